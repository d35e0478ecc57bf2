"""Of its patterns."""
