package browsertest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// second is a sound of one second of silence, as WAV.
func second() []byte {
	const rate = 8000
	var b bytes.Buffer
	b.WriteString("RIFF")
	_ = binary.Write(&b, binary.LittleEndian, uint32(36+rate))
	b.WriteString("WAVEfmt ")
	_ = binary.Write(&b, binary.LittleEndian, []uint32{16, 1<<16 | 1, rate, rate, 8<<16 | 1}) // PCM, one channel, 8 bits
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, uint32(rate))
	b.Write(bytes.Repeat([]byte{128}, rate))
	return b.Bytes()
}

// TestSound has the browser decode a sound of a server, also after a reload, and in the
// conversation that another question begins.
func TestSound(t *testing.T) {
	s := newServer("band").tool("sing", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said(&sdk.AudioContent{MIMEType: "audio/wav", Data: second()}), nil
	})
	ada := enter(t, serving(t, "band", s)...)
	ada.allow(`call sing {"song": "quiet"}`)
	const plays = `(async () => {
		const sound = document.querySelector(".media audio");
		if (!sound) return 0;
		await new Promise((done, fail) => {
			sound.addEventListener("canplaythrough", done);
			sound.addEventListener("error", () => fail(sound.error.message));
			sound.preload = "auto";
			sound.load();
		});
		return sound.duration;
	})()`
	for range 2 {
		ada.await("document.querySelector('.media audio') !== null")
		check.Equal(t, "seconds of the sound", eval[float64](ada, plays), 1)
		ada.accessible("sound")
		ada.reload()
	}
	ada.await("document.querySelector('#send').checkVisibility()")
	ada.ask("What is 1 plus 1?")
	ada.await("document.querySelectorAll('.said').length === 2")
	ada.await("document.querySelector('#send').checkVisibility()")
	eval[bool](ada, "([...document.querySelectorAll('.said button')].at(-1).click(), true)")
	eval[bool](ada, "(document.querySelector('.said textarea').value = 'What did I ask before?', true)")
	ada.click(".said button", "Send again")
	ada.await("document.querySelectorAll('#list li').length === 2")
	ada.see(".reply .prose", "Before that you asked")
	check.Equal(t, "seconds of the sound in the new conversation", eval[float64](ada, plays), 1)
	ada.click(".call summary", "sing", ".call pre", `"song": "quiet"`)
}

// TestTotals counts the tokens of what a server asks the model, too.
func TestTotals(t *testing.T) {
	ada := enter(t)
	long := "Summarize: Version 1.5 is out. " + strings.Repeat("It is fast. ", 60) // each request to the model has all of it
	ada.ask(long, ".card.sampling", "Version 1.5 is out.")
	ada.see("#totals", "tokens")
	const tokens = "parseInt(document.querySelector('#totals').innerText.replaceAll(',', ''))"
	before := eval[int](ada, tokens)
	ada.click(".card button", "Refuse", "#send", "Send")
	refused := eval[int](ada, tokens)
	ada.click("#new", "New")
	ada.await("document.querySelector('#totals').innerText === ''")
	ada.ask(long)
	ada.click(".card button", "Allow", "#send", "Send")
	ada.see(".reply .prose", "Summary: Version 1.5 is out.")
	allowed := eval[int](ada, tokens)
	check.That(t, before > 0 && allowed >= refused+len(long)/8, "got %d tokens without the server's request, and %d with it", refused, allowed)
	ada.reload()
	ada.await(tokens+" === %s", allowed)
}

// TestOlderConversations reaches conversations beyond the first page of the list, by keys, deletes one, and has others
// begin meanwhile.
func TestOlderConversations(t *testing.T) {
	ada := enter(t, "-rate", "10000")
	const all = 110
	const begin = `fetch("/api/conversations", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: %s }) }).then(r => r.ok)`
	until := ada.expectErrors("429") // as many as may be at work are at work
	for i := range all {
		ada.await(begin, fmt.Sprintf("question number %d", i))
	}
	until()
	ada.reload()
	count := func(n int) {
		t.Helper()
		ada.await("document.querySelectorAll('#list li').length === %s", n)
	}
	count(50)
	ada.accessible("long list")
	ada.click("#older", "Show older ones")
	count(100)
	ada.await("document.activeElement === document.querySelectorAll('#list a')[50]")
	ada.shoot("older ones")
	ada.click("#older", "Show older ones")
	count(all)
	ada.gone("#older")
	ada.ask("What is 1 plus 1?") // the last of the first page makes room
	ada.see(".reply .prose", "2")
	count(all + 1)
	check.Equal(t, "different conversations", eval[int](ada, "new Set([...document.querySelectorAll('#list a')].map(a => a.href)).size"), all+1)
	ada.click("#list a", "question number 0", "#title", "question number 0")
	ada.see(".said", "question number 0")
	ada.click("#list li:has([aria-current]) button", "×")
	ada.click("#list li:has([aria-current]) button", "Delete?")
	count(all)
	ada.see("#title", "New conversation")
	ada.reload()
	count(50)
}
