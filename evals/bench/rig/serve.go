package rig

import (
	"bufio"
	"io"
)

// Head begins every response, up to the id.
const Head = `{"jsonrpc":"2.0","id":`

// Copied is the size up to which an answer is copied behind its head, for a
// single write. A longer answer is a write of its own.
const Copied = 4 << 10

// Serve is an MCP server that answers each line with prepared bytes, until the reader ends: answer finds the id and the
// bytes from the comma behind it to the newline. A nil id has no answer. It allocates
// nothing for a request. Requests that arrive together are answered together.
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
