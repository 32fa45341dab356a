package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// floorStream is the floor over a byte stream, one message on each line: a lock,
// a map of waiting calls, and one reading goroutine.
type floorStream struct {
	ended chan struct{} // closed when nothing is left to read
	wait  func() error  // ends reading or waits for the peer's end, and waits until ended is closed

	writing sync.Mutex
	writer  io.WriteCloser
	out     []byte

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *floorMessage
	broken  error
}

// startFloorStream reads from r until its end. The caller sets wait.
func startFloorStream(r io.Reader, w io.WriteCloser) *floorStream {
	f := &floorStream{ended: make(chan struct{}), writer: w, waiting: map[int64]chan *floorMessage{}}
	go func() {
		defer close(f.ended)
		f.read(r)
	}()
	return f
}

// newFloorStream is the floor over a pipe.
func newFloorStream(r io.ReadCloser, w io.WriteCloser) *floorStream {
	f := startFloorStream(r, w)
	f.wait = func() error {
		err := r.Close()
		<-f.ended
		return err
	}
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
	f := startFloorStream(stdout, stdin)
	f.wait = func() error {
		<-f.ended // Wait closes the pipe
		return cmd.Wait()
	}
	return f, nil
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
	return errors.Join(f.writer.Close(), f.wait())
}
