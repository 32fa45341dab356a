package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func dialPipe(t *testing.T) (client, server transport.Conn) {
	t.Helper()
	recipe, server := New()
	client, err := recipe.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := dialPipe(t)
		message := []byte("{\n}")
		for range 2 {
			if err := client.Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
		}
		message[0] = 'x'
		for range 2 {
			if got, err := server.Recv(); err != nil || string(got) != "{\n}" {
				t.Errorf("server: got %q and error %v, want the message as it was sent", got, err)
			}
		}
		if err := server.Send(t.Context(), []byte("[]")); err != nil {
			t.Fatal(err)
		}
		if got, err := client.Recv(); err != nil || string(got) != "[]" {
			t.Errorf("client: got %q and error %v, want []", got, err)
		}
	})
}

func TestPipeDial(t *testing.T) {
	recipe, _ := New()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := recipe.Dial(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: got %v, want %v", err, context.Canceled)
	}
	if _, err := recipe.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := recipe.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "once") {
		t.Errorf("second Dial: got %v, want that it can be dialed once", err)
	}
}

func TestPipeBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := dialPipe(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sent := 0
		var err error
		for err == nil {
			if err = client.Send(ctx, fmt.Append(nil, sent)); err == nil {
				sent++
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) || sent != maxUnread {
			t.Errorf("got %v after %d messages, want the deadline after %d", err, sent, maxUnread)
		}
		client.Close()
		for i := range sent {
			if got, err := server.Recv(); err != nil || string(got) != fmt.Sprint(i) {
				t.Fatalf("got %q and error %v, want %d", got, err, i)
			}
		}
		if _, err := server.Recv(); err != io.EOF {
			t.Errorf("got %v, want EOF", err)
		}
		if err := server.Send(t.Context(), []byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("to an end that is closed: got %v, want %v", err, io.ErrClosedPipe)
		}
	})
}

func TestPipeCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := dialPipe(t)
		for range maxUnread {
			if err := client.Send(t.Context(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		own, other := make(chan error, 3), make(chan error, 1)
		go func() { own <- client.Send(t.Context(), []byte("{}")) }()
		go func() { _, err := client.Recv(); own <- err }()
		synctest.Wait()
		client.Close()
		client.Close()
		own <- client.Send(t.Context(), []byte("{}"))
		for range 3 {
			if err := <-own; !errors.Is(err, transport.ErrClosed) {
				t.Errorf("got %v, want %v", err, transport.ErrClosed)
			}
		}
		go func() {
			for {
				if _, err := server.Recv(); err != nil {
					other <- err
					return
				}
			}
		}()
		if err := <-other; err != io.EOF {
			t.Errorf("the other end: got %v, want EOF", err)
		}
	})
}

// A scripted server, for a test of something that uses a client.
func ExamplePipe() {
	recipe, server := New()
	go func() {
		defer server.Close()
		request, err := server.Recv()
		if err != nil {
			return
		}
		fmt.Printf("server got %s\n", request)
		_ = server.Send(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}()

	conn, err := recipe.Dial(context.Background()) // what Connect does
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	_ = conn.Send(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	answer, err := conn.Recv()
	fmt.Printf("client got %s, error %v\n", answer, err)
	// Output:
	// server got {"jsonrpc":"2.0","id":1,"method":"ping"}
	// client got {"jsonrpc":"2.0","id":1,"result":{}}, error <nil>
}
