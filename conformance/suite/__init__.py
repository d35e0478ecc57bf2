"""Plays behaviours with drivers and says what each does."""
