// Package subject makes an error name its operation and subject only once, although two packages
// may add them.
package subject

import (
	"errors"
	"fmt"
)

// subjectError is an error that names its operation and subject.
type subjectError struct{ error }

func (s *subjectError) Unwrap() error { return s.error }

// Errorf is [fmt.Errorf] for an error that names its operation and subject: [Wrap] adds nothing to
// it.
func Errorf(format string, args ...any) error { return &subjectError{fmt.Errorf(format, args...)} }

// Wrap adds an operation and its subject before an error. It returns an error of [Errorf] within err
// unchanged, and nil for nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if s, ok := errors.AsType[*subjectError](err); ok {
		return s
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Result is [Wrap] for the results of a function. With an error, the other result is zero.
func Result[T any](v T, err error, format string, args ...any) (T, error) {
	if err != nil {
		v = *new(T)
	}
	return v, Wrap(err, format, args...)
}
