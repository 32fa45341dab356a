// Package paramheader repeats arguments of a tool call in headers.
package paramheader

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

const maxSafeInteger = 1<<53 - 1

type argument struct {
	Param
	value []byte // nil if it is absent
}

// Mirror calls set for each header of a call with these arguments, which are valid JSON without
// surrounding white space. Of equal names the last counts, as for most servers.
func Mirror(params []Param, arguments []byte, set func(header, value string)) error {
	all := make([]*argument, len(params))
	for i, p := range params {
		all[i] = &argument{Param: p}
	}
	err := find(all, arguments, 0)
	for _, a := range all {
		text, ok, textErr := a.text()
		switch {
		case textErr != nil:
			err = errors.Join(err, fmt.Errorf("argument %q: %w", excerpt.Cut(strings.Join(a.path, ".")), textErr))
		case ok:
			set(a.header, Value(text))
		}
	}
	return err
}

// find sets the values of arguments within object, which is depth steps down their paths.
func find(all []*argument, object []byte, depth int) error {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	return jsonrpc.Members(object, func(key, value []byte) {
		var within []*argument
		for _, a := range all {
			switch {
			case a.path[depth] != string(key):
			case len(a.path) > depth+1:
				a.value = nil // of an equal name before
				within = append(within, a)
			default:
				a.value = value
			}
		}
		if len(within) > 0 {
			_ = find(within, value, depth+1) // Members has checked the value
		}
	})
}

// text returns the text of an argument for a header. ok is false if it has none: "If the value is
// null or absent, clients MUST omit the header" (2026-07-28 streamable-http, "Custom Headers from
// Tool Parameters"). A value that is not of the declared type is left to the server to refuse.
func (a *argument) text() (text string, ok bool, err error) {
	if len(a.value) == 0 {
		return "", false, nil
	}
	switch a.value[0] {
	case 'n', '{', '[':
		return "", false, nil
	case 't', 'f':
		return string(a.value), true, nil
	case '"':
		if err := json.Unmarshal(a.value, &text); err != nil {
			return "", false, err
		}
		return text, true, nil
	}
	f, err := strconv.ParseFloat(string(a.value), 64) // 4e1 and 4.0 are integers, too
	unsafe := err != nil || math.Abs(f) > maxSafeInteger
	switch {
	case unsafe && a.integer:
		return "", false, fmt.Errorf("%s is repeated in a header, where integers beyond ±(2^53-1) are not allowed", excerpt.Cut(string(a.value)))
	case unsafe || f != math.Trunc(f):
		return string(a.value), true, nil
	}
	return strconv.FormatInt(int64(f), 10), true, nil
}

// Value encodes text for one of these headers, or for Mcp-Name: plain ASCII unchanged, other text
// in Base64 between markers (2026-07-28 streamable-http, "Value Encoding"). Text that stands
// between such markers itself is encoded, too, as servers would decode it.
func Value(v string) string {
	const open, end = "=?base64?", "?="
	if plain(v) && !(strings.HasPrefix(v, open) && strings.HasSuffix(v, end)) {
		return v
	}
	return open + base64.StdEncoding.EncodeToString([]byte(v)) + end
}

func plain(v string) bool {
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e {
			return false
		}
	}
	return v == strings.TrimSpace(v)
}
