package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/internal/sse"
)

func ExampleReader_Next() {
	stream := strings.NewReader(`: keep-alive

id: 1
retry: 3000
data:

id: 2
data: {"jsonrpc":"2.0",
data: "id":1,"result":{}}

data: broken of`)

	r := sse.NewReader(stream, 1<<20)
	for {
		ev, err := r.Next()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			fmt.Println("the stream was cut within an event")
			return
		case err != nil:
			fmt.Println(err)
			return
		case len(ev.Data) == 0:
			fmt.Printf("id %s, connect again after %v\n", ev.ID, ev.Retry)
		default:
			fmt.Printf("id %s, %s: %s\n", ev.ID, ev.Type, ev.Data)
		}
	}
	// Output:
	// id 1, connect again after 3s
	// id 2, message: {"jsonrpc":"2.0",
	// "id":1,"result":{}}
	// the stream was cut within an event
}
