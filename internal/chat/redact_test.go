package chat

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// An endpoint may repeat the key in other forms, and the error would bring it into logs.
func TestDisguisedKeys(t *testing.T) {
	const key = "h2~Pass+word/long ä?"
	req, _ := http.NewRequest(http.MethodPost, "https://h.test", nil)
	req.Header.Set("Authorization", "Bearer "+key)
	percent := func(format string) (text string) {
		for i := range len(key) {
			text += fmt.Sprintf(format, key[i])
		}
		return text
	}
	forms := map[string]string{
		"plain": key, "upper case": strings.ToUpper(key), "query": "h2~Pass%2Bword%2Flong+%C3%A4%3F", "path": "h2~Pass+word%2flong%20%c3%a4%3f",
		"all in percent form": percent("%%%02X"), "in lower case": percent("%%%02x"), "escaped": strings.NewReplacer("P", `\u0050`, "+", `\u002B`, "ä", `\u00e4`).Replace(key),
	}
	for before := range 4 {
		forms[fmt.Sprint("base64 ", before)] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("~", before) + key + strings.Repeat("?", before)))
		forms[fmt.Sprint("base64 of URLs ", before)] = base64.RawURLEncoding.EncodeToString([]byte("Bearer " + strings.Repeat("?", before) + key))
	}
	for name, form := range forms {
		got := newRedactor(req).clean("the key <" + form + "> is wrong")
		inner := got[strings.Index(got, "<")+1 : strings.Index(got, ">")]
		if left := strings.ReplaceAll(inner, "[redacted]", ""); inner == left || len(left) > 14 { // what stood before and behind
			t.Errorf("%s, %s: got %s", name, form, got)
		}
	}
	const odd = `ab/cd"ef\gh😀`
	req.Header.Set("Authorization", "Bearer "+odd)
	for _, form := range []string{odd, `ab\/cd\"ef\\gh😀`, `ab\/cd\u0022ef\u005cgh\ud83d\uDE00`} {
		check.Equal(t, form, newRedactor(req).clean("the key "+form), "the key [redacted]")
	}
	const harmless = "the model hunter of aGVsbG8gd29ybGQ= is not here: 100%25"
	check.Equal(t, "", newRedactor(req).clean(harmless), harmless)
}

// Gateways have headers of their own for keys.
func TestSecretHeaders(t *testing.T) {
	req, _ := http.NewRequest(http.MethodPost, "https://h.test", nil)
	for _, name := range []string{"cf-aig-authorization", "Helicone-Auth", "x-litellm-api-key", "CF-Access-Client-Secret", "X-Goog-Api-Key", "OpenAI-Organization", "Cookie"} {
		req.Header = http.Header{}
		req.Header.Set(name, "Bearer top-secret")
		check.Equal(t, name, newRedactor(req).clean("top-secret is wrong"), "[redacted] is wrong")
	}
	req.Header = http.Header{"Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
	check.Equal(t, "others", newRedactor(req).clean("2023-06-01, application/json"), "2023-06-01, application/json")
}

// A secret may begin another one.
func TestLongestSecretFirst(t *testing.T) {
	req, _ := http.NewRequest(http.MethodPost, "https://h.test/?a=secret&b=secret-and-more&c=secret-and", nil)
	for range 10 { // the parameters of a URL have no order
		check.Equal(t, "", newRedactor(req).clean("got secret-and-more, secret-and, secret"), "got [redacted], [redacted], [redacted]")
	}
}
