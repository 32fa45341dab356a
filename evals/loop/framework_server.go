package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// serverAlone is not an agent: it sends the calls of a run as prepared lines and
// waits for the answers. Its cost is the server's own work.
type serverAlone struct {
	*place
	in  *bufio.Reader
	id  int
	out []byte
}

// The metadata of each request of 2026-07-28, the revision that all compared
// clients agree on with the server.
const requestMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"none","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}`

func openServerAlone(_ context.Context, p *place) (loop, error) {
	s := &serverAlone{place: p, in: bufio.NewReaderSize(p.reader, 64<<10)}
	s.append("server/discover", `{`+requestMeta+`}`)
	return s, s.exchange(1)
}

func (s *serverAlone) append(method, params string) {
	s.id++
	s.out = append(s.out, `{"jsonrpc":"2.0","id":`...)
	s.out = strconv.AppendInt(s.out, int64(s.id), 10)
	s.out = append(s.out, `,"method":"`+method+`","params":`+params+"}\n"...)
}

// exchange sends what is prepared and reads n answers.
func (s *serverAlone) exchange(n int) error {
	_, err := s.writer.Write(s.out)
	s.out = s.out[:0]
	for ; err == nil && n > 0; n-- {
		var line []byte
		if line, err = s.in.ReadSlice('\n'); err == nil && !bytes.Contains(line, []byte(`"result"`)) {
			err = fmt.Errorf("the server answers %q", line)
		}
	}
	return err
}

func (s *serverAlone) run(context.Context) (string, error) {
	for range s.turns {
		for range s.calls {
			s.append("tools/call", `{"name":"`+toolName+`","arguments":`+arguments+`,`+requestMeta+`}`)
		}
		if err := s.exchange(s.calls); err != nil {
			return "", err
		}
	}
	return answer, nil
}

func (s *serverAlone) close() error { return nil }
