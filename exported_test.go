package mcpchain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestExportedNamesAreUsed looks for names that no outsider uses. Each exported name of a public
// package occurs in a guide, a program, a test outside of its package, or a package above it. Four
// kinds need no use of their own: a type that another exported name has, a field of JSON, a
// method that an interface demands, and a constant beside a used one.
func TestExportedNamesAreUsed(t *testing.T) {
	public, used := tree(t)
	for _, guide := range documents(t) {
		used.readGuide(read(t, guide))
	}
	for _, folder := range slices.Sorted(maps.Keys(public)) {
		p := packageOf(public[folder])
		for _, group := range p.names {
			needless := func(name string) bool {
				_, method, _ := strings.Cut(name, ".")
				return !p.types[name] && !p.demanded[method] && !used.outside(folder, name)
			}
			if !slices.ContainsFunc(group, func(name string) bool { return !needless(name) }) {
				t.Errorf("%s: no guide, program or test from outside uses %s", folder, strings.Join(group, ", "))
			}
		}
	}
}

// tree reads the Go files of the repository: the public packages by folder, and what all files use.
func tree(t *testing.T) (public map[string][]*ast.File, used uses) {
	public = map[string][]*ast.File{}
	used = uses{names: map[string]bool{}, members: map[string][]string{}}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == "node_modules" || name == ".git") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(file) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(file))
		if strings.HasSuffix(parsed.Name.Name, "_test") {
			used.read("a test of "+folder, parsed)
			return nil
		}
		used.read(folder, parsed)
		inside := regexp.MustCompile(`^(examples|evals)\b|^\.$|\binternal\b`).MatchString(folder)
		if !inside && !strings.HasSuffix(file, "_test.go") {
			public[folder] = append(public[folder], parsed)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return public, used
}

// api is what a package exports.
type api struct {
	names    [][]string      // Name, Type.Method or Type.Field; the constants of one declaration together
	types    map[string]bool // identifiers in the types of these names
	demanded map[string]bool // methods of interfaces
}

// library has the methods that fmt, log/slog, errors, net/http and encoding/json look for.
var library = []string{"Error", "Unwrap", "Is", "As", "String", "GoString", "LogValue", "RoundTrip", "ServeHTTP",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

func packageOf(files []*ast.File) *api {
	a := &api{types: map[string]bool{}, demanded: map[string]bool{}}
	for _, method := range library {
		a.demanded[method] = true
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				a.function(d)
			case *ast.GenDecl:
				a.declaration(d)
			}
		}
	}
	return a
}

func (a *api) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	name := d.Name.Name
	if d.Recv != nil {
		owner := receiver(d.Recv.List[0].Type)
		if !ast.IsExported(owner) {
			return
		}
		name = owner + "." + name
	}
	a.names = append(a.names, []string{name})
	a.typed(d.Type)
}

func (a *api) declaration(d *ast.GenDecl) {
	var constants []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if !name.IsExported() {
					continue
				}
				if d.Tok == token.CONST {
					constants = append(constants, name.Name)
				} else {
					a.names = append(a.names, []string{name.Name})
				}
				a.typed(s.Type)
			}
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				a.names = append(a.names, []string{s.Name.Name})
				a.definition(s)
			}
		}
	}
	if len(constants) > 0 {
		a.names = append(a.names, constants)
	}
}

func (a *api) definition(s *ast.TypeSpec) {
	switch of := s.Type.(type) {
	case *ast.StructType:
		for _, field := range of.Fields.List {
			inJSON := field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`)
			for _, name := range field.Names {
				if !name.IsExported() {
					continue
				}
				a.typed(field.Type)
				if !inJSON {
					a.names = append(a.names, []string{s.Name.Name + "." + name.Name})
				}
			}
		}
	case *ast.InterfaceType:
		for _, method := range of.Methods.List {
			for _, name := range method.Names {
				a.demanded[name.Name] = true
			}
		}
		a.typed(of)
	default:
		a.typed(of)
	}
}

// typed notes the identifiers of a type.
func (a *api) typed(of ast.Node) {
	if of == nil || of == ast.Expr(nil) {
		return
	}
	ast.Inspect(of, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			a.types[id.Name] = true
		}
		return true
	})
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// uses holds what files use: names with the folder of their package, as in
// mcpclient/mcp.Tool, and fields and methods with the folders of their users.
type uses struct {
	names   map[string]bool
	members map[string][]string
}

const guides = "the guides"

func (u uses) outside(folder, name string) bool {
	_, member, isMember := strings.Cut(name, ".")
	if !isMember {
		return u.names[folder+"."+name] || slices.Contains(u.members[name], guides)
	}
	return slices.ContainsFunc(u.members[member], func(user string) bool { return user != folder })
}

func (u uses) use(member, folder string) {
	if !slices.Contains(u.members[member], folder) {
		u.members[member] = append(u.members[member], folder)
	}
}

func (u uses) read(folder string, file *ast.File) {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if from, ours := strings.CutPrefix(target, module+"/"); ours {
			imported[name] = from
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			u.use(n.Sel.Name, folder)
			if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] != "" {
				u.names[imported[x.Name]+"."+n.Sel.Name] = true
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				u.use(key.Name, folder)
			}
		}
		return true
	})
}

// readGuide reads the code of a guide: blocks, and words between backticks.
func (u uses) readGuide(text string) {
	for _, code := range regexp.MustCompile("(?s)```.*?```|`[^`]+`").FindAllString(text, -1) {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(code, -1) {
			u.use(name, guides)
		}
	}
}
