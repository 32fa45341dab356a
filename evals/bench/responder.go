package main

import (
	"bufio"
	"bytes"
	"io"
)

// respondHead begins every response, up to the id.
const respondHead = `{"jsonrpc":"2.0","id":`

// request finds the id and the method of a request as text, without parsing:
// the compared clients send both before the params. id is nil for a
// notification.
func (a *answers) request(message []byte) (id, rest []byte) {
	i := bytes.Index(message, []byte(`"id":`))
	if i < 0 {
		return nil, nil
	}
	id = message[i+len(`"id":`):]
	id = id[:bytes.IndexByte(id, ',')]

	i = bytes.Index(message, []byte(`"method":"`))
	method := message[i+len(`"method":"`):]
	switch {
	case bytes.HasPrefix(method, []byte("tools/call")):
		i = bytes.Index(method, []byte("bench_"))
		tool := method[i:]
		return id, a.texts[string(tool[:bytes.IndexByte(tool, '"')])]()
	case bytes.HasPrefix(method, []byte("tools/list")):
		page := 0
		if i := bytes.Index(method, []byte("page_")); i >= 0 {
			page = int(method[i+5]-'0')*10 + int(method[i+6]-'0')
		}
		return id, a.pages()[page]
	case bytes.HasPrefix(method, []byte("initialize")):
		return id, a.initialize
	}
	return id, a.discover
}

// copied is the size up to which an answer is copied behind its head, for a
// single write. A longer answer is a write of its own.
const copied = 4 << 10

// serve answers requests, one on each line, until the reader ends. It allocates
// nothing for a request. Requests that arrive together are answered together.
func (a *answers) serve(r io.Reader, w io.Writer, size int) error {
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
		if id, rest := a.request(line); id != nil {
			out = append(append(out, respondHead...), id...)
			if len(rest) <= copied {
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
