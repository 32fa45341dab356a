// Package mcptest plays written conversations to a client, as the server of the conversation.
//
// A conversation is a txtar file: the text before the first section is a description, and each
// section is a step. A conversation of messages can be played over a connection ([Script.Dial])
// and over HTTP ([Script.ServeHTTP]). Its sections are:
//
//	-- meta --               members of _meta that every request of the client
//	                         has; its sections leave them out
//	-- client --             JSON messages that the client sends, in this order
//	-- client, any order --
//	-- server --             JSON messages for the client
//	-- server, raw --        one message for the client, which may be anything
//	-- wait 5s --            the server is silent for a while
//	-- close --              the server closes the connection
//	-- dial --               the client opens the next connection
//
// A conversation about HTTP itself has these sections. A label after the name tells concurrent requests apart:
//
//	-- POST --      a request of the client (likewise GET, DELETE): headers, an
//	                empty line, the message
//	-- reply --     the response to it: status and content type, headers, an
//	                empty line, the body
//	-- stream --    the same, but the response continues:
//	-- more --      more of it
//	-- end --       its regular end
//	-- cut --       its end by a broken connection
//	-- gone --      the client ends the exchange
//
// Of a request's headers, Mcp-*, Last-Event-ID and Authorization are compared.
// Accept and Content-Type are checked on every request and not written down.
//
// A tool call may have its own id as its progress token. If one of the client's
// sections has progress tokens, all must have them.
//
// The string "*" in a message of the client stands for any value. With the test
// flag -update the client's sections are rewritten with the messages it sent.
package mcptest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

var update = flag.Bool("update", false, "rewrite the client's half of the transcripts")

// patience is how long a script waits for the client. In a bubble of
// [testing/synctest] it passes at once if the client does nothing.
const patience = time.Minute

// Script plays a conversation, once.
type Script struct {
	// Stream makes every response over HTTP an event stream. Otherwise a response with only the answer is JSON.
	Stream bool

	t       testing.TB
	update  bool
	path    string
	archive *txtar.Archive
	meta    map[string]json.RawMessage
	tokens  bool // progress tokens are in the script

	arrivals chan *arrival // from connections and HTTP handlers to the player
	stop     chan struct{} // closed at the end of the test
	running  sync.WaitGroup

	// Only the player uses these.
	conn    transport.Conn      // the current connection, nil before the first and over HTTP
	pending []*arrival          // what came before its section
	open    []*arrival          // requests that await a response over HTTP
	labels  map[string]*arrival // requests of a conversation about HTTP itself
}

// Read starts to play the file at path. At the end of the test, or of its
// bubble, it reports missing and extra messages of the client.
func Read(t testing.TB, path string) *Script {
	t.Helper()
	return read(t, path, *update)
}

func read(t testing.TB, path string, update bool) *Script {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &Script{
		t:        t,
		update:   update,
		path:     path,
		archive:  archive,
		arrivals: make(chan *arrival),
		stop:     make(chan struct{}),
		labels:   map[string]*arrival{},
		tokens:   slices.ContainsFunc(archive.Files, namesToken),
	}
	played := make(chan bool, 1)
	s.running.Go(func() { played <- s.play() })
	t.Cleanup(func() {
		close(s.stop)
		if s.conn != nil {
			_ = s.conn.Close()
		}
		s.running.Wait()
		if <-played && update {
			check.NoError(t, os.WriteFile(s.path, txtar.Format(s.archive), 0o644))
		}
	})
	return s
}

// namesToken reports whether a section of the client has progress tokens.
func namesToken(section txtar.File) bool {
	return !strings.HasPrefix(section.Name, "server") && bytes.Contains(section.Data, []byte(`"progressToken"`))
}

func (s *Script) play() bool {
	for i := range s.archive.Files {
		section := &s.archive.Files[i]
		if err := s.step(section); err != nil {
			s.t.Errorf("%s: section %d (%s): %v", s.path, i+1, section.Name, err)
			if s.conn != nil {
				_ = s.conn.Close()
			}
			s.drain(true)
			return false
		}
	}
	for _, a := range s.pending {
		s.unexpected(a)
	}
	s.drain(false)
	return true
}

func (s *Script) step(section *txtar.File) error {
	name, label, _ := strings.Cut(section.Name, " ")
	switch name {
	case "meta":
		return json.Unmarshal(section.Data, &s.meta)
	case "client", "client,":
		return s.checkClient(section, label == "any order")
	case "server":
		return s.sendAll(section.Data)
	case "server,":
		return s.send(bytes.TrimSuffix(section.Data, []byte("\n")))
	case "wait":
		return s.wait(label)
	case "close":
		return s.conn.Close()
	case "dial":
		return s.awaitDial()
	}
	return s.playHTTP(section, name, label)
}

func (s *Script) wait(label string) error {
	d, err := time.ParseDuration(label)
	if err != nil {
		return err
	}
	select {
	case <-time.After(d):
		return nil
	case <-s.stop:
		return errEarly
	}
}

func (s *Script) sendAll(data []byte) error {
	messages, err := values(data)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := s.send(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Script) checkClient(section *txtar.File, anyOrder bool) error {
	want, err := values(section.Data)
	if err != nil && !s.update {
		return err
	}
	var got [][]byte
	for range max(1, len(want)) {
		a, err := s.next(func(a *arrival) bool { return !a.dialed })
		if err != nil {
			return err
		}
		if a.id != "" {
			s.open = append(s.open, a)
		}
		body, err := s.withoutMeta(a.body)
		if err != nil {
			return err
		}
		got = append(got, body)
	}
	if anyOrder && len(want) > 0 {
		got = sortLike(got, want)
	}
	for i := range got {
		switch diff := diffJSON(itemAt(want, i), got[i]); {
		case diff == "":
		case s.update:
			section.Data = append(bytes.Join(got, []byte("\n")), '\n')
			return nil
		default:
			s.t.Errorf("%s (%s): message of the client, got +, want -:\n%s", s.path, section.Name, diff)
		}
	}
	return nil
}

func itemAt(list [][]byte, i int) []byte {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func values(data []byte) ([][]byte, error) {
	var out [][]byte
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var v json.RawMessage
		switch err := d.Decode(&v); err {
		case nil:
		case io.EOF:
			return out, nil
		default:
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, v); err != nil {
			return nil, err
		}
		out = append(out, line.Bytes())
	}
}
