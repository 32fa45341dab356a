package child

import "os"

// Input is the standard input of a process. Only one of Write and Offer may run at a
// time, once.
type Input struct {
	file *os.File
	offering
}

// Write blocks while the process does not read. Close ends that.
func (in *Input) Write(b []byte) (int, error) { return in.file.Write(b) }

// Close closes the pipe. What was written can still be read.
func (in *Input) Close() error { return in.file.Close() }
