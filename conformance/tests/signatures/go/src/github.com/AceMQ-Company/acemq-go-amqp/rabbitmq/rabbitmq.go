// Package rabbitmq is imported for its registration alone.
package rabbitmq
