// Package unattended marks what a program does by itself, while no person waits for it.
package unattended

import "context"

type key struct{}

// Context marks a context: what is done with it asks no person, for example to sign in.
func Context(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether a context is marked.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
