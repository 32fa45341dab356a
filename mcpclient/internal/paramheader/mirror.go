// Package paramheader repeats arguments of a tool call in headers.
package paramheader

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// maxSafeInteger is the largest integer that every JSON implementation can represent.
const maxSafeInteger = 1<<53 - 1

// Mirror calls set for each header of a call with these arguments, which are valid JSON without
// surrounding white space. "If the value is null or absent, clients MUST omit the header."
func Mirror(params []Param, arguments []byte, set func(header, value string)) error {
	return mirror(params, arguments, 0, set)
}

// mirror is [Mirror] for the parameters within object, which is depth steps down their paths.
func mirror(params []Param, object []byte, depth int, set func(header, value string)) error {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	var failed error
	err := jsonrpc.Members(object, func(key, value []byte) {
		var within []Param
		for _, p := range params {
			switch {
			case p.path[depth] != string(key):
			case len(p.path) > depth+1:
				within = append(within, p)
			default:
				v, ok, err := textOf(value)
				switch {
				case err != nil:
					failed = errors.Join(failed, fmt.Errorf("argument %q: %w", key, err))
				case ok:
					set(p.header, Value(v))
				}
			}
		}
		if len(within) > 0 {
			failed = errors.Join(failed, mirror(within, value, depth+1, set))
		}
	})
	return errors.Join(err, failed)
}

// textOf returns the text of an argument. ok is false for null, objects and arrays, which have
// none. An integer beyond ±(2^53-1) is an error.
func textOf(value []byte) (text string, ok bool, err error) {
	switch value[0] {
	case 'n', '{', '[':
		return "", false, nil
	case 't', 'f':
		return string(value), true, nil
	case '"':
		if err := json.Unmarshal(value, &text); err != nil {
			return "", false, err
		}
		return text, true, nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil { // 4e1 and 4.0 are integers, too
		f, err := strconv.ParseFloat(string(value), 64)
		switch {
		case err != nil || f > maxSafeInteger || f < -maxSafeInteger:
			return "", false, unsafeInteger(value)
		case f != float64(int64(f)):
			return string(value), true, nil // not of the declared type: left to the server
		}
		n = int64(f)
	}
	if n > maxSafeInteger || n < -maxSafeInteger {
		return "", false, unsafeInteger(value)
	}
	return strconv.FormatInt(n, 10), true, nil
}

func unsafeInteger(value []byte) error {
	return fmt.Errorf("%s is repeated in a header, where integers beyond ±(2^53-1) are not allowed", excerpt.Cut(string(value)))
}

// Value encodes text for one of these headers, or for Mcp-Name: plain ASCII unchanged, other
// text in Base64 between markers (2026-07-28 streamable-http, "Value Encoding").
func Value(v string) string {
	const open, end = "=?base64?", "?="
	if plain(v) && !(strings.HasPrefix(v, open) && strings.HasSuffix(v, end)) {
		return v
	}
	return open + base64.StdEncoding.EncodeToString([]byte(v)) + end
}

// plain reports whether v consists of printable ASCII, with no space at its ends.
func plain(v string) bool {
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e {
			return false
		}
	}
	return v == strings.TrimSpace(v)
}
