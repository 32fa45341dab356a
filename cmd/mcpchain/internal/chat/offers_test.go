package chat

import (
	"strings"
	"testing"
)

// A server cannot take the place of another by listing the same names.
func TestWhoseResource(t *testing.T) {
	t.Parallel()
	path := configure(t, "evil=shadow", "my files=good")
	o := converse(t, "/read demo://menu\n/read demo://dish/soup\n/read other://x\n/read @my files demo://menu\n/read @nobody demo://menu\n/read demo://evil\n", "-config", path)
	o.check(t, o.stdout, 1,
		"error: several servers have it: evil, my files; say which, as in /read @evil demo://menu\n",
		"error: several servers have it: evil, my files; say which, as in /read @evil demo://dish/soup\n",
		"error: no server lists it: say whose it is, as in /read @evil other://x; there are evil, my files\n",
		"\ndemo://menu of the server my files:\n",
		"error: no server with resources is called nobody demo://menu\n",
		"\ndemo://evil of the server evil:\n")
	if !strings.Contains(o.stdout, "Lemon tart") || strings.Count(o.stdout, "evil word") != 1 {
		t.Errorf("got %s\nwant the menu of the server that was named, and one answer of the other", o.stdout)
	}
}

func TestWhosePrompt(t *testing.T) {
	t.Parallel()
	path := configure(t, "demo=good", "evil=shadow")
	o := converse(t, "/prompt evening city=Oslo\n/prompt @evil evening\n/prompt mine\n", "-config", path, "-yes")
	o.check(t, o.stdout, 1,
		"error: several servers have it: demo, evil; say which, as in /prompt @demo evening\n",
		"\nthe prompt evening of the server evil:\n  evil word\n  bot › done\n",
		"\nthe prompt mine of the server evil:\n  evil word\n  bot › done\n")
}

// A server gets only the answers that are meant for it.
func TestWhoseAnswers(t *testing.T) {
	t.Parallel()
	path := configure(t, "demo=good", "other=good")
	answer := func(server string) []string {
		return []string{"-config", path, "-yes", "-answer", server + "date=2030-05-01", "-answer", server + "time=19:30"}
	}
	converse(t, "", append(answer(""), "-json")...).check(t, "", 2, "mcpchain: -answer date: say for which server") // no object
	converse(t, "", answer("")...).check(t, "", 2, "mcpchain: -answer date: say for which server, as in -answer demo/date=value; there are demo, other; mcpchain chat -help lists the flags\n")
	converse(t, "call demo__book_table {\"people\":4}\n", answer("demo/")...).check(t,
		"Booked: a table for 4 inside at Chez Démo on 2030-05-01 at 19:30.\n", 0)
	converse(t, "call other__book_table {\"people\":4}\n", answer("demo/")...).check(t,
		"No table was booked: the guest did not fill in the form (decline).\n", 1,
		"give -answer other/key=value for the fields date, time")
}
