package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"readFile, read_file and HTTPServer2":     "read fil read fil http server 2",
		"The files that you are listing":          "fil list",
		"Running runs of a runner; studies study": "run run run studi studi",
		"the classes of buses process status":     "class bus process status",
		"the news of the stations are new":        "news station new",
		"availability, verifications":             "availabl verifi",
		"使用必应搜索":                                  "search 使用 用必 必应 应搜 搜索",
		"Customers don't contain containers":      "customer contain container",
		"I'm in the direction of a directory":     "direction directori",
		"x":                                       "x",
		strings.Repeat("a1", 30):                  strings.TrimSpace(strings.Repeat("1 ", 30)),
		strings.Repeat("z", 50):                   "",
	} {
		var got []string
		for s := range (stems{}).in(text, 1000) {
			got = append(got, s)
		}
		check.Equal(t, text, strings.Join(got, " "), want)
	}
}

var docs = []Doc{
	{Name: "send_email", Description: "Sends a message to a person.", Params: "recipient subject", Server: "mail"},
	{Name: "read_file", Description: "Reads the content of a file.", Params: "path of the file", Server: "files"},
	{Name: "write_file", Description: "Writes a file.", Params: "path content", Server: "files"},
	{Name: "search", Title: "Search the web", Description: "Finds pages.", Server: "web"},
	{Name: "echo", Description: "Returns the message.", Server: "everything"},
}

func TestSearch(t *testing.T) {
	x := New(docs)
	for query, want := range map[string][]int{
		"read the contents of a file": {1, 2},
		"Emails":                      {0, 4},
		"web pages":                   {3},
		"store a document":            {2, 1}, // writes a file
		"serach":                      {3},    // swapped
		"messaeg":                     {4, 0}, // the text of echo is shorter
		"mail":                        {0, 4}, // echo has a message
		"nothing of that":             {},
		"":                            {},
	} {
		check.Same(t, query, append([]int{}, x.Search(query, 2)...), want)
	}
	got := x.Search("file", -1)
	check.That(t, len(got) == 0, "got %v for a negative limit", got)
	got = New(nil).Search("file", 3)
	check.That(t, len(got) == 0, "got %v of no docs", got)
}

// TestRanking checks what counts for which document, by its place among others.
func TestRanking(t *testing.T) {
	for name, tt := range map[string]struct {
		docs []Doc
		best map[string][]int // by query
	}{
		"adjacent words find the document in which they are adjacent": {[]Doc{
			{Name: "check", Description: "Tests the type of a word, and documents it."},
			{Name: "check", Description: "Tests a word of the document type."},
		}, map[string][]int{"document type": {1, 0}}},
		"words of a name that the query does not have count against it, unless they are related to one of the query": {[]Doc{
			{Name: "get_price_history", Description: "Returns a price.", Params: "price"},
			{Name: "get_price", Description: "Returns a price."}, {Name: "photo_catalog", Description: "Returns a picture."},
			{Name: "photo_image", Description: "Returns a picture."},
		}, map[string][]int{"a price": {1}, "the history of a price": {0}, "a picture": {3}}},
		"a verb of the same meaning counts more than a related word": {[]Doc{
			{Name: "clear_label", Description: "Clears labels."},
			{Name: "delete_label", Description: "Deletes labels, and tells how many of them there were."},
		}, map[string][]int{"remove the label": {1, 0}}},
		"a word of the same meaning counts more than a related word": {[]Doc{
			{Name: "icons", Description: "Holds icons."},
			{Name: "pictures", Description: "Holds pictures, and tells how many of them there were."},
		}, map[string][]int{"a photo": {1, 0}}},
		"tools for another action count less": {[]Doc{
			{Name: "label_delete", Description: "Removes a label of a group."},
			{Name: "label", Description: "Cancels a label of a group."},
			{Name: "label_by_id", Description: "Returns a label of the group with that identifier."},
			{Name: "label_group", Description: "Shows and deletes the label of a group."},
		}, map[string][]int{"get the label of a group": {3, 2, 1, 0}, "delete the label of a group": {0}}},
		"to tell is to get": {[]Doc{
			{Name: "modify_balance", Description: "Modifies a balance."}, {Name: "get_balance", Description: "Gets a balance."},
		}, map[string][]int{"tell me the balance": {1, 0}}},
		"words that ask for details say little": {[]Doc{
			{Name: "info", Description: "Gives detailed information."},
			{Name: "flights", Description: "Lists the flights of today, and tells how full they are."},
		}, map[string][]int{"detailed information on flights": {1, 0}}},
		"words that ask for the latest say little": {[]Doc{
			{Name: "a", Description: "Gives the current or latest one."},
			{Name: "bulletin", Description: "Tells of the news of a town, and who wrote them."},
		}, map[string][]int{"current news": {1, 0}, "the latest news": {1, 0}}},
		"two parameters count more than a word of the description": {[]Doc{
			{Name: "a", Description: "Shows the wind."}, {Name: "b", Description: "Shows the air.", Params: "humidity pressure"},
		}, map[string][]int{"wind humidity and pressure": {1, 0}}},
		"a query names things that it does not call by their names": {[]Doc{
			{Name: "distance", Description: "Gives the distance between two towns."},
			{Name: "clock", Description: "Gives the time."}, {Name: "translate", Description: "Translates a text."},
			{Name: "open_file", Description: "Shows a file."}, {Name: "open_paper", Description: "Shows a publication."},
		}, map[string][]int{
			"How far is it from Rome to Paris?": {0}, "at 5 PM": {1}, "at 17:30": {1}, "thank you in German": {2},
			"open /data/paper_list.bib": {3, 4}, "open C:\\papers\\list.txt": {3, 4}, "open the paper": {4, 3},
		}},
		"words of values count less than words outside them": {[]Doc{
			{Name: "stars", Description: "Shows the stars."}, {Name: "notes", Description: "Writes a note."},
		}, map[string][]int{`note "look at the stars"`: {1, 0}, "note look at the stars": {0, 1}, "note user's friends' stars": {0, 1}}},
		"a word that a query repeats counts more": {[]Doc{
			{Name: "rivers", Description: "Shows rivers."}, {Name: "lakes", Description: "Shows lakes."},
		}, map[string][]int{"a lake or a river": {0, 1}, "a river or a lake, and a lake": {1, 0}}},
		"a number counts less than a word": {[]Doc{
			{Name: "a", Description: "Limits texts to 30."}, {Name: "b", Description: "Limits texts to minutes."},
		}, map[string][]int{"30 minutes": {1, 0}}},
		"a name counts more if the query has all its words": {[]Doc{
			{Name: "photo_image", Description: "Returns a photo."}, {Name: "photo", Description: "Returns what the camera sees."},
			{Name: "yield", Description: "Tells what a stock and a bond yield."},
		}, map[string][]int{"the photo": {1, 0}}},
		"words find a tool that is described in the other language": {[]Doc{
			{Name: "a", Description: "获取热门新闻，包含财经和科技资讯。"}, {Name: "b", Description: "查询火车票的余票信息。"},
			{Name: "c", Description: "Translates a text."},
		}, map[string][]int{"train tickets": {1}, "trending financial news": {0}, "翻译文本": {2}, "火车票": {1}}},
		"words find other forms of them": {[]Doc{
			{Name: "account_logout", Description: "Ends the session of an account."},
			{Name: "account_signup", Description: "Makes an account."}, {Name: "calculator", Description: "Adds numbers."},
			{Name: "help", Description: "Tells of the specific commands that are required."},
			{Name: "b", Description: "Cancelled."}, {Name: "c", Description: "Cancels it, and tells what it has cost."},
		}, map[string][]int{"log out of the account": {0}, "sign up for an account": {1}, "calculate": {2}, "help with specific calculations": {2}, "cancel": {4, 5}}},
	} {
		x := New(tt.docs)
		for query, want := range tt.best {
			check.Same(t, name+": "+query, x.Search(query, len(want)), want)
		}
	}
}

// TestRelated checks that each word of the thesaurus has relatives, and is not its own.
func TestRelated(t *testing.T) {
	for _, w := range strings.Fields(synonyms + thesaurus) {
		stem := (stems{}).of(w)
		check.That(t, stem != "" && len(related()[stem]) != 0 && related()[stem][stem] == 0, "%q: got the relatives %v of %q", w, related()[stem], stem)
	}
}

// TestTies checks that documents with equal scores keep their order.
func TestTies(t *testing.T) {
	same := make([]Doc, 50)
	for i := range same {
		same[i] = Doc{Name: "get", Description: "Gets a thing."}
	}
	got := New(same).Search("get a thing", 50)
	check.That(t, slices.IsSorted(got) && len(got) == 50, "got %v", got)
}

func FuzzSearch(f *testing.F) {
	f.Add("read_file", "Reads a file.", "reaad files")
	f.Add("\xff", "使用", "用\x00")
	f.Fuzz(func(t *testing.T, name, text, query string) {
		got := New([]Doc{{Name: name, Description: text}, docs[1]}).Search(query, 1)
		check.That(t, len(got) <= 1, "got %v", got)
	})
}

// many returns documents whose words are distributed as in large vocabularies: few words are in many documents.
func many(n int) (out []Doc) {
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.1, 5, 20_000)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%c%c%c%d ", 'a'+rune(zipf.Uint64()%26), 'a'+rune(zipf.Uint64()/26%26), 'a'+rune(zipf.Uint64()/676%26), zipf.Uint64()%10)
		}
		return b.String()
	}
	for range n {
		out = append(out, Doc{Name: text(2), Description: text(40), Params: text(30), Server: text(2)})
	}
	return out
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		x := New(many(n))
		query := many(1)[0].Description
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Search(query[:60], 5)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	all := many(10_000)
	b.ReportAllocs()
	for b.Loop() {
		New(all)
	}
}
