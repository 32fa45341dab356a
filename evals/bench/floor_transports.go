package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
)

// floorStream is the floor over a byte stream, one message on each line: a lock,
// a map of waiting calls, and one reading goroutine.
type floorStream struct {
	reading sync.WaitGroup
	end     func() error // ends the peer, after its last message

	writing sync.Mutex
	writer  io.WriteCloser
	out     []byte

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *floorMessage
	broken  error
}

// newFloorStream is the floor over a pipe.
func newFloorStream(r io.Reader, w io.WriteCloser, end func() error) *floorStream {
	f := &floorStream{end: end, writer: w, waiting: map[int64]chan *floorMessage{}}
	f.reading.Go(func() { f.read(r) })
	return f
}

// newFloorCommand is the floor over a child process.
func newFloorCommand(command []string) (*floorStream, error) {
	cmd := exec.Command(command[0], command[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return newFloorStream(stdout, stdin, cmd.Wait), nil
}

// read delivers messages until the stream ends or a message is not a response.
func (f *floorStream) read(src io.Reader) {
	r := bufio.NewReaderSize(src, 16<<10)
	var long []byte
	for {
		line, err := r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			for long = long[:0]; err == bufio.ErrBufferFull; line, err = r.ReadSlice('\n') {
				long = append(long, line...)
			}
			long = append(long, line...)
			line = long
		}
		if err == nil {
			err = f.deliver(line)
		}
		if err != nil {
			f.fail(err)
			return
		}
	}
}

// deliver passes a response to its call.
func (f *floorStream) deliver(line []byte) error {
	m := &floorMessage{}
	if err := json.Unmarshal(line, m); err != nil {
		return err
	}
	f.mu.Lock()
	answer, ok := f.waiting[m.ID]
	delete(f.waiting, m.ID)
	f.mu.Unlock()
	if !ok {
		return fmt.Errorf("a response to %d without a waiting call", m.ID)
	}
	answer <- m
	return nil
}

// fail ends all calls, and those to come, with an error.
func (f *floorStream) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = err
	for _, answer := range f.waiting {
		close(answer)
	}
	clear(f.waiting)
}

func (f *floorStream) exchange(ctx context.Context, r floorRequest) (*floorMessage, error) {
	answer := make(chan *floorMessage, 1)
	f.mu.Lock()
	if f.broken != nil {
		f.mu.Unlock()
		return nil, f.broken
	}
	f.last++
	id := f.last
	f.waiting[id] = answer
	f.mu.Unlock()

	if err := f.send(&r, id); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m == nil {
			return nil, f.broken
		}
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *floorStream) notify(_ context.Context, r floorRequest) error { return f.send(&r, 0) }

func (f *floorStream) send(r *floorRequest, id int64) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.out = append(r.appendTo(f.out[:0], id), '\n')
	_, err := f.writer.Write(f.out)
	return err
}

func (f *floorStream) close() error {
	err := f.writer.Close()
	f.reading.Wait() // before the end, which closes the reader
	return errors.Join(err, f.end())
}

// floorHTTP is the floor over net/http: a POST for each request. It reads the whole response and then decodes it.
type floorHTTP struct {
	url  string
	http *http.Client
	last atomic.Int64
}

// bodies are the buffers for responses.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// exchange sends a request and reads the whole response: JSON, or a stream of one event.
func (f *floorHTTP) exchange(ctx context.Context, r floorRequest) (*floorMessage, error) {
	id := f.last.Add(1)
	resp, err := f.post(ctx, &r, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.method, resp.Status)
	}
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if resp.ContentLength > 0 {
		body.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	data := body.Bytes()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		_, data, _ = bytes.Cut(data, []byte("data: "))
		data, _, _ = bytes.Cut(data, []byte("\n"))
	}
	m := &floorMessage{}
	err = json.Unmarshal(data, m)
	if err == nil && m.ID != id {
		err = fmt.Errorf("%s: a response to %d instead of %d", r.method, m.ID, id)
	}
	return m, err
}

func (f *floorHTTP) notify(ctx context.Context, r floorRequest) error {
	resp, err := f.post(ctx, &r, 0)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// post sends a request, with the id 0 as a notification. The caller closes the body.
func (f *floorHTTP) post(ctx context.Context, r *floorRequest, id int64) (*http.Response, error) {
	body := bytes.NewReader(r.appendTo(make([]byte, 0, 512), id))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, body)
	if err != nil {
		return nil, err
	}
	request.Header = r.header()
	return f.http.Do(request)
}

// header is the HTTP header of the request.
func (r *floorRequest) header() http.Header {
	h := http.Header{
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {legacy},
	}
	if r.modern {
		h["Mcp-Protocol-Version"] = []string{modern}
		h["Mcp-Method"] = []string{r.method}
		if r.tool != "" {
			h["Mcp-Name"] = []string{r.tool}
		}
	}
	return h
}

func (f *floorHTTP) close() error { return nil }
