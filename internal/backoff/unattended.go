package backoff

import "context"

type unattendedKey struct{}

// Unattended marks a context for attempts that must not ask a person, for example to sign in.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// IsUnattended reports whether a context is marked.
func IsUnattended(ctx context.Context) bool { return ctx.Value(unattendedKey{}) != nil }
