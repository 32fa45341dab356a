package memhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

// inBubble runs f against a server of h. The end of the bubble proves that no goroutine is left.
func inBubble(t *testing.T, h http.HandlerFunc, f func(t *testing.T, s *memhttp.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.New(h)
		defer s.Close()
		f(t, s)
	})
}

func get(t *testing.T, ctx context.Context, s *memhttp.Server, path string) *http.Response {
	t.Helper()
	resp := check.Value(s.Client().Do(check.Value(http.NewRequestWithContext(ctx, "GET", s.URL()+path, nil))(t)))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A flushed line must arrive while the handler waits.
func TestStreaming(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintln(w, "line", i)
			w.(http.Flusher).Flush()
			time.Sleep(time.Hour)
		}
	}
	inBubble(t, stream, func(t *testing.T, s *memhttp.Server) {
		start := time.Now()
		body := bufio.NewReader(get(t, t.Context(), s, "/").Body)
		for i := range 3 {
			check.Equal(t, "", check.Value(body.ReadString('\n'))(t), fmt.Sprintln("line", i))
			waited, want := time.Since(start), time.Duration(i)*time.Hour
			check.That(t, waited == want, "line %d: got it after %v, want %v", i, waited, want)
		}
	})
}

func TestServerSeesCancel(t *testing.T) {
	seen := make(chan error, 1)
	for _, method := range []string{"GET", "POST"} {
		wait := func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			seen <- r.Context().Err()
		}
		inBubble(t, wait, func(t *testing.T, s *memhttp.Server) {
			ctx, cancel := context.WithCancel(t.Context())
			req := check.Value(http.NewRequestWithContext(ctx, method, s.URL(), strings.NewReader("body")))(t)
			resp := check.Value(s.Client().Do(req))(t)
			defer resp.Body.Close()
			cancel()
			check.Is(t, check.Err(io.ReadAll(resp.Body)), context.Canceled, method)
			synctest.Wait()
			select {
			case err := <-seen:
				check.Equal(t, method, err, context.Canceled)
			default:
				t.Errorf("%s: the handler was not told", method)
			}
		})
	}
}

// abort writes a part of an answer and breaks its connection.
func abort(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "part")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestHandlerAborts(t *testing.T) {
	inBubble(t, abort, func(t *testing.T, s *memhttp.Server) {
		for range 2 { // the second needs a new connection
			got, err := io.ReadAll(get(t, t.Context(), s, "/").Body)
			check.That(t, string(got) == "part" && errors.Is(err, io.ErrUnexpectedEOF),
				"got %q, %v, want %q, %v", got, err, "part", io.ErrUnexpectedEOF)
		}
	})
}

func waitForEnd(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestDrop(t *testing.T) {
	inBubble(t, waitForEnd, func(t *testing.T, s *memhttp.Server) {
		for range 2 {
			body := get(t, t.Context(), s, "/").Body
			s.Drop()
			check.Fails(t, check.Err(io.ReadAll(body)))
		}
	})
}

func TestRefuse(t *testing.T) {
	inBubble(t, waitForEnd, func(t *testing.T, s *memhttp.Server) {
		s.Refuse(true)
		check.Fails(t, check.Err(s.Client().Get(s.URL())))
		s.Refuse(false)
		get(t, t.Context(), s, "/")
	})
}

func TestClose(t *testing.T) {
	returned := false
	h := func(w http.ResponseWriter, r *http.Request) {
		waitForEnd(w, r)
		time.Sleep(time.Minute) // its own way of ending
		returned = true
	}
	inBubble(t, h, func(t *testing.T, s *memhttp.Server) {
		get(t, t.Context(), s, "/")
		s.Close()
		check.That(t, returned, "Close returned before the handler")
		s.Close()
		check.Fails(t, check.Err(s.Client().Get(s.URL())), "closed")
	})
}

func TestHijacked(t *testing.T) {
	hijack := func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		if r.URL.Path == "/cut" {
			conn.Close()
		}
	}
	inBubble(t, hijack, func(t *testing.T, s *memhttp.Server) {
		cut, open := get(t, t.Context(), s, "/cut").Body, get(t, t.Context(), s, "/open").Body
		got, err := io.ReadAll(cut)
		check.That(t, string(got) == "half" && err == io.ErrUnexpectedEOF, "got %q, %v, want %q, %v", got, err, "half", io.ErrUnexpectedEOF)
		s.Close()
		got, err = io.ReadAll(open)
		check.That(t, err != nil, "got %q and a clean end after Close, want an error", got)
	})
}
