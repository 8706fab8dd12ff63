"""The explorer: rules, answers and proofs in the browser and as a web service."""
