"""The table as one self-contained page."""


def as_html(report):
    return f"<!doctype html><title>conformance</title><p>{report.counts()}"
