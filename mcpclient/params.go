package mcpclient

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
)

// customRequest returns a request with params, and options for their _meta. From the params it
// removes the members that the era writes, so that the message has each of them once.
func customRequest(method string, params any) (*request, []CallOption, error) {
	encoded, err := jsonrpc.EncodeParams(params)
	r := &request{method: method, params: encoded}
	if err != nil || encoded == nil {
		return r, nil, err
	}
	target := targetMember(method)
	var meta map[string]json.RawMessage
	var metaErr error
	rest := []byte{'{'}
	err = jsonrpc.Members(encoded, func(key, value []byte) {
		switch string(key) {
		case "_meta":
			metaErr = json.Unmarshal(value, &meta)
		case "inputResponses", "requestState":
			r.answers = jsonrpc.AppendMember(r.answers, string(key), value)
		case target:
			_ = json.Unmarshal(value, &r.target) // the server refuses other values
			fallthrough
		default:
			rest = jsonrpc.AppendMember(rest, string(key), value)
		}
	})
	switch {
	case err != nil:
		return nil, nil, err
	case metaErr != nil:
		return nil, nil, fmt.Errorf("_meta: %w", metaErr)
	}
	r.params = jsonrpc.CloseObject(rest)
	var opts []CallOption
	for key, value := range meta {
		opts = append(opts, WithMeta(key, value))
	}
	return r, opts, nil
}

// encodeArguments returns the params of a request with a name and arguments, which are left out if
// they are nil or null.
func encodeArguments(name string, args any) ([]byte, error) {
	raw, err := jsonrpc.EncodeParams(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	b := make([]byte, 0, len(name)+len(raw)+32)
	b = jsonrpc.AppendString(append(b, `{"name":`...), name)
	if raw != nil {
		b = append(append(b, `,"arguments":`...), raw...)
	}
	return append(b, '}'), nil
}

func (r *request) paramsWithAnswers() json.RawMessage {
	if len(r.answers) == 0 {
		return r.params
	}
	return jsonrpc.CloseObject(append(jsonrpc.AppendMembers([]byte{'{'}, r.params), r.answers...))
}

// checkMeta checks and compacts entries of _meta. who names their author in errors.
func checkMeta(who string, meta map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	checked := make(map[string]json.RawMessage, len(meta))
	for key, value := range meta {
		if key == "progressToken" || metakey.Reserved(key) {
			return nil, fmt.Errorf("%s: %q belongs to the protocol", who, key)
		}
		if _, err := metakey.Check(key); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", who, excerpt.Cut(key), err)
		}
		compact, err := jsonrpc.OneLine(value)
		if err != nil {
			return nil, fmt.Errorf("%s: value of %q: %w", who, key, err)
		}
		checked[key] = compact
	}
	return checked, nil
}
