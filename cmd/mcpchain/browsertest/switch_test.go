package browsertest_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// saver is a view that saves when it is torn down.
const saver = `<!doctype html><title>saver</title><p id="saver">A drawing.</p><script>
	const send = (m) => parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
	addEventListener("message", ({ data: m }) => {
		if (m.id === 1 && m.result) { send({ method: "ui/notifications/initialized" }); document.querySelector("#saver").textContent = "ready"; }
		if (m.method === "ui/resource-teardown") send({ id: m.id, result: { saved: true } });
	});
	send({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "saver", version: "1" }, appCapabilities: {} } });
</script>`

// TestSwitchWithView goes to another conversation while a view is open, and asks in the same
// moment: the question is the new conversation's. The view hears that it ends, and its page is not
// waited for.
func TestSwitchWithView(t *testing.T) {
	stubborn := strings.Replace(saver, "send({ id: m.id, result: { saved: true } })", "{}", 1)
	for name, document := range map[string]string{"saves": saver, "stubborn": stubborn} {
		t.Run(name, func(t *testing.T) {
			ada := enter(t, serving(t, "saver", newServer("saver").view("draw", document))...)
			ada.allow("call draw {}")
			ada.see(".reply .prose", "done by draw")
			ada.inView("document.querySelector('#saver')?.textContent === 'ready'")
			ada.expectErrors("404") // for a message that is on its way when its view ends
			eval[bool](ada, "(window.heard = [], addEventListener('message', (e) => heard.push(JSON.stringify(e.data))), true)")
			eval[bool](ada, `(() => {
				document.querySelector("#new").click();
				document.querySelector("#question").value = "a private question";
				document.querySelector("#composer").requestSubmit();
				return true;
			})()`)
			ada.await("document.querySelectorAll('#list li').length === 2")
			ada.await("[...document.querySelectorAll('.said')].map(n => n.querySelector('.bubble').innerText).join() === 'a private question'")
			ada.see("#title", "a private question")
			ada.shoot("question in the new conversation")
			if document == saver {
				ada.await(`heard.some(m => m.includes('"saved":true'))`)
			}
			ada.await("document.querySelector('iframe') === null")
			ada.click("#list a", "call draw")
			ada.see(".reply .prose", "done by draw")
			check.Equal(t, "questions in the old conversation", eval[int](ada, "document.querySelectorAll('.said').length"), 1)
			ada.inView("document.querySelector('#saver')?.textContent === 'ready'") // it is shown again
		})
	}
}
