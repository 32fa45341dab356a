// Package check compares values and errors in tests, and reports what differs.
package check

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Err returns the error of a call, without its value.
func Err[T any](_ T, err error) error { return err }

// Value returns the value of a call, to the test that it ends if there is an error:
//
//	log := check.Value(store.Load(ctx, key))(t)
func Value[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return v
	}
}

// NoError reports an error. Here and below, what names the checked value. It may be left out, or "", where the line of the
// test shows it.
func NoError(t testing.TB, err error, what ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", prefix(what), err)
	}
}

// Fails reports that there is no error.
func Fails(t testing.TB, err error, what ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%sgot no error", prefix(what))
	}
}

// Is reports an error that does not match want.
func Is(t testing.TB, err, want error, what ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%sgot %v, want %v", prefix(what), err, want)
	}
}

// Text reports an error whose text lacks want, and a nil error.
func Text(t testing.TB, err error, want string, what ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%sgot %v, want %q in it", prefix(what), err, want)
	}
}

// That reports a claim that does not hold, with a text in the form of [fmt.Sprintf].
func That(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Require is That, and ends the test.
func Require(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// Equal reports two values that differ.
func Equal[T comparable](t testing.TB, what any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot %v, want %v", prefix([]any{what}), got, want)
	}
}

// Same is Equal for values of any type, such as maps and pointers. It shows only what differs.
func Same(t testing.TB, what, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s-want +got\n%s", prefix([]any{what}), diff)
	}
}

// Contains reports a text without part.
func Contains(t testing.TB, what any, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%sgot %q, want %q in it", prefix([]any{what}), text, part)
	}
}

// Allocated returns how many bytes f allocates, together with what else runs.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// prefix returns the beginning of a report: the names of the checked values, "" for none.
func prefix(what []any) string {
	text := strings.TrimSpace(fmt.Sprintln(what...))
	if text == "" {
		return ""
	}
	return text + ": "
}
