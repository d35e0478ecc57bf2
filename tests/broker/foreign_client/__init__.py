"""What foreign_client_pika.py checks, a module a subject."""
