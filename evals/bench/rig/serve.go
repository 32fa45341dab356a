package rig

import (
	"bufio"
	"bytes"
	"io"
)

// Head begins every response, up to the id.
const Head = `{"jsonrpc":"2.0","id":`

// Copied is the length up to which an answer is copied behind its head and sent with it. A longer
// one is written on its own.
const Copied = 4 << 10

// Serve is an MCP server that answers each line with prepared bytes, until r ends. The answer to a line is the id of
// the request, and the bytes from the comma behind the id to the newline; a nil id sends no answer. Answers to lines
// that arrive together are sent together. Serve allocates nothing for a request.
func Serve(r io.Reader, w io.Writer, size int, answer func(line []byte) (id, rest []byte)) error {
	in := bufio.NewReaderSize(r, size)
	out := make([]byte, 0, size)
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if id, rest := answer(line); id != nil {
			out = append(append(out, Head...), id...)
			if len(rest) <= Copied {
				out = append(out, rest...)
			} else {
				if _, err := w.Write(out); err != nil {
					return err
				}
				out = out[:0]
				if _, err := w.Write(rest); err != nil {
					return err
				}
			}
		}
		if len(out) > 0 && (in.Buffered() == 0 || len(out) > size/2) {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
}

// Value returns the scalar behind a key of a request as text, without parsing, and nil without the key. The compared
// clients send no such key before that of the envelope, and no space behind it.
func Value(request []byte, key string) []byte {
	i := bytes.Index(request, []byte(key))
	if i < 0 {
		return nil
	}
	value := request[i+len(key):]
	return value[:bytes.IndexAny(value, ",}\n")]
}

// Pipe runs a server at a pipe and returns the client's end. The server ends when the client has closed its writer; the
// reader then ends with the server's error.
func Pipe(serve func(io.Reader, io.Writer) error) (io.ReadCloser, io.WriteCloser) {
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	go func() {
		err := serve(requests, answers)
		_ = requests.CloseWithError(err) // neither returns an error
		_ = answers.CloseWithError(err)
	}()
	return fromServer, toServer
}
