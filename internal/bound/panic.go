package bound

import (
	"fmt"
	"runtime/debug"
)

// PanicError reports that code of the host panicked.
type PanicError struct {
	What  string // what panicked
	Value any
	Stack []byte
}

// Error omits the stack, as the text may be shown to a model or a server.
func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.What, e.Value) }

// Run calls f. A panic becomes a [*PanicError].
func Run(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{What: what, Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
