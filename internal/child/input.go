package child

import "os"

// Input is the standard input of a process. Only one of Write and Offer may run at a
// time, once.
type Input struct {
	file *os.File
	offering
}

// Write blocks until the process reads, or Close is called.
func (in *Input) Write(b []byte) (int, error) { return in.file.Write(b) }

// Close closes the pipe. The process can still read the written bytes.
func (in *Input) Close() error { return in.file.Close() }
