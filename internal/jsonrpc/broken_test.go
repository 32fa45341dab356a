package jsonrpc

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestBrokenMembers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // names and values, a blank after each
	}{
		{`{"jsonrpc":"2.0","id":12,"result":{"content":[{"ty`, `jsonrpc "2.0" id 12 result  `},
		{`{"result":{"id":5},"jsonrpc":"2.0","id":8,"x":"`, `result  jsonrpc "2.0" id 8 x  `},
		{`{"result":{"a":tru,"b":[1 2]},"id":8}`, `result  id 8 `},
		{`{ "id" : "a\"b" , "result" : }`, `id "a\"b" result  `},
		{`{"id":1,"id":2}`, `id 1 id 2 `},
		{`{"method":"id","x":["id",1],"id":{"id":3}}`, `method "id" x  id  `},
		{`{"jsonrpc":"2.0","id":12`, `jsonrpc "2.0" id  `}, // the number may be longer
		{`["id",1]`, ""},
		{`}}{"id":1`, ""},
		{`noise`, ""},
		{``, ""},
	} {
		got := ""
		BrokenMembers([]byte(tt.text), func(key, value []byte) { got += string(key) + " " + string(value) + " " })
		check.Equal(t, tt.text, got, tt.want)
	}
}
