package backoff

import "context"

type unattendedKey struct{}

// Unattended marks a context: what is tried again with it asks no person, for example to sign in.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// IsUnattended reports whether a context is marked.
func IsUnattended(ctx context.Context) bool { return ctx.Value(unattendedKey{}) != nil }
