"""Looks at a broker from outside: AMQP 0-9-1 in a few hundred lines that know no message library and no contract."""
