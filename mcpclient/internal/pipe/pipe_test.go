package pipe

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func dialPipe(t *testing.T) (client, server transport.Conn) {
	t.Helper()
	recipe, server := New()
	client = check.Value(recipe.Dial(t.Context()))(t)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func wantMessage(t *testing.T, conn transport.Conn, want string) {
	t.Helper()
	check.Equal(t, "message", string(check.Value(conn.Recv())(t)), want)
}

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := dialPipe(t)
		message := []byte("{\n}")
		for range 2 {
			check.Must(t, client.Send(t.Context(), message))
		}
		message[0] = 'x'
		for range 2 {
			wantMessage(t, server, "{\n}") // as it was sent
		}
		check.Must(t, server.Send(t.Context(), []byte("[]")))
		wantMessage(t, client, "[]")
	})
}

func TestPipeDial(t *testing.T) {
	recipe, _ := New()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(recipe.Dial(ended)), context.Canceled, "with a context that has ended")
	check.Must(t, check.Err(recipe.Dial(t.Context())))
	check.Text(t, check.Err(recipe.Dial(t.Context())), "once", "second Dial")
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
		check.Is(t, err, context.DeadlineExceeded)
		check.Equal(t, "messages", sent, maxUnread)
		client.Close()
		for i := range sent {
			wantMessage(t, server, fmt.Sprint(i))
		}
		check.Equal(t, "at the end", check.Err(server.Recv()), io.EOF)
		check.Is(t, server.Send(t.Context(), []byte("{}")), io.ErrClosedPipe, "to an end that is closed")
	})
}

func TestPipeCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := dialPipe(t)
		for range maxUnread {
			check.Must(t, client.Send(t.Context(), []byte("{}")))
		}
		own := make(chan error, 3)
		go func() { own <- client.Send(t.Context(), []byte("{}")) }()
		go func() { _, err := client.Recv(); own <- err }()
		synctest.Wait()
		client.Close()
		client.Close()
		own <- client.Send(t.Context(), []byte("{}"))
		for range 3 {
			check.Is(t, <-own, transport.ErrClosed)
		}
		var err error
		for err == nil {
			err = check.Err(server.Recv())
		}
		check.Equal(t, "the other end", err, io.EOF)
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
