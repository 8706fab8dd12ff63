"""A plugin of pytest for mutmut, which asks for the names of tests where pytest no longer has them."""


def pytest_collection_modifyitems(items):
    for item in items:
        item._nodeid = item.nodeid
