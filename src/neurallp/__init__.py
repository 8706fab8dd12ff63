"""Learn weighted logical rules from a knowledge base, answer questions with them, and show why."""

__version__ = "0.1.0"
