package mcpclient_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// errOf returns the error of a call that also has a result.
func errOf(_ any, err error) error { return err }

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noError reports an error; of says which, if the line does not.
func noError(t testing.TB, err error, of ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", about(of), err)
	}
}

// wantIs checks what an error is.
func wantIs(t testing.TB, err, want error, of ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%sgot %v, want %v", about(of), err, want)
	}
}

// wantText checks for a part of the text of an error.
func wantText(t testing.TB, err error, want string, of ...string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%sgot %v, want %q in it", about(of), err, want)
	}
}

// equal compares two values.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot %v, want %v", about([]string{what}), got, want)
	}
}

// same compares two values by their parts.
func same(t testing.TB, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%sgot +, want -:\n%s", about([]string{what}), diff)
	}
}

// about begins a message.
func about(what []string) string {
	if text := strings.Join(what, ", "); text != "" {
		return text + ": "
	}
	return ""
}
