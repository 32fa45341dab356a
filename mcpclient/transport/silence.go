package transport

// SilenceError is the error of a server that gave no answer, with what its connection knows.
type SilenceError struct {
	Err    error
	Server string // such as its command or URL, without secrets; "" if it has no name
	Stderr string // the last lines of its standard error, as in a [ProcessError]
}

// Error is the text of Err with the server and what it wrote.
func (e *SilenceError) Error() string { return e.with("") }

// with is the text of the error with more about the silence.
func (e *SilenceError) with(more string) string {
	s := e.Err.Error()
	if e.Server != "" {
		s += " (" + e.Server + " gave no answer)"
	}
	if s += more; e.Stderr != "" {
		s += "; the server" + onStderr(e.Stderr)
	}
	return s
}

// Unwrap returns Err.
func (e *SilenceError) Unwrap() error { return e.Err }
