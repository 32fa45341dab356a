// Package subject has an error say once what was done to what, whichever of two packages says it.
package subject

import (
	"errors"
	"fmt"
)

// said is an error that says what was done to what.
type said struct{ error }

func (s *said) Unwrap() error { return s.error }

// Errorf is [fmt.Errorf] for an error that says what was done to what: [Wrap] adds nothing to it.
func Errorf(format string, args ...any) error { return &said{fmt.Errorf(format, args...)} }

// Wrap says before an error what was done to what. It returns an error of [Errorf] within err as it is, and nil for nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if s, ok := errors.AsType[*said](err); ok {
		return s
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
