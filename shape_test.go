package mcpchain_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Ceilings of a package: the percentage of its lines in declarations that all depend on each other, and the number of
// methods of a type and of the files that have them. Methods belong to their type.
const (
	maxKnot        = 30
	maxMethods     = 40
	maxMethodFiles = 8
)

// shaped are the packages that must stay below the ceilings.
var shaped = []string{"adapter", "agent", "mcpclient", "mcpclient/apps/host", "mcpclient/oauth"}

func TestShapeOfPackages(t *testing.T) {
	for _, folder := range shaped {
		p := readShape(t, folder)
		for name, files := range p.methods {
			n := 0
			for _, k := range files {
				n += k
			}
			check.That(t, n <= maxMethods && len(files) <= maxMethodFiles,
				"%s: type %s has %d methods in %d files, want at most %d in %d", folder, name, n, len(files), maxMethods, maxMethodFiles)
		}
		names, percent := p.knot()
		check.That(t, percent <= maxKnot, "%s: %d %% of the lines depend on each other, want at most %d: %v", folder, percent, maxKnot, names)
	}
}

// shape records which declarations of a package use which.
type shape struct {
	lines   map[string]int
	uses    map[string]map[string]bool
	methods map[string]map[string]int // by type and file
}

func readShape(t *testing.T, folder string) *shape {
	t.Helper()
	set := token.NewFileSet()
	files := filesOf(t, set, folder)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importerOf(exportsOf(t, folder))}
	pkg := check.Value(conf.Check(folder, set, files, info))(t)
	p := &shape{map[string]int{}, map[string]map[string]bool{}, map[string]map[string]int{}}
	for _, f := range files {
		for _, d := range f.Decls {
			p.read(set, pkg, info, d)
		}
	}
	return p
}

// exportsOf returns the export data files of packages and of those that they import.
func exportsOf(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	args := []string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, folder := range folders {
		args = append(args, "./"+folder)
	}
	out := check.Value(exec.Command("go", args...).Output())(t)
	all := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		path, file, _ := strings.Cut(lines.Text(), " ")
		all[path] = file
	}
	return all
}

// importerOf reads export data files.
func importerOf(exports map[string]string) types.Importer {
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

func (p *shape) read(set *token.FileSet, pkg *types.Package, info *types.Info, d ast.Decl) {
	if f, ok := d.(*ast.FuncDecl); ok {
		name := f.Name.Name
		if f.Recv != nil {
			name = typeName(f.Recv.List[0].Type)
			if p.methods[name] == nil {
				p.methods[name] = map[string]int{}
			}
			p.methods[name][set.Position(f.Pos()).Filename]++
		}
		p.add(set, pkg, info, name, f)
		return
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			p.add(set, pkg, info, s.Name.Name, s)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				p.add(set, pkg, info, name.Name, s)
			}
		}
	}
}

// add adds a part of a declaration with the objects that it uses.
func (p *shape) add(set *token.FileSet, pkg *types.Package, info *types.Info, name string, n ast.Node) {
	p.lines[name] += set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
	if p.uses[name] == nil {
		p.uses[name] = map[string]bool{}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if used := ownerOf(pkg, info.Uses[id]); used != "" {
				p.uses[name][used] = true
			}
		}
		return true
	})
}

// typeName returns the name of a type of the package, or of a pointer to it.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return typeName(of.X)
	case *ast.IndexExpr:
		return typeName(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// ownerOf returns the declaration of the package that an object belongs to, or "".
func ownerOf(pkg *types.Package, o types.Object) string {
	if o == nil || o.Pkg() != pkg {
		return ""
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		t := f.Signature().Recv().Type()
		if pointer, ok := t.(*types.Pointer); ok {
			t = pointer.Elem()
		}
		if named, ok := t.(*types.Named); ok {
			return named.Obj().Name()
		}
		return ""
	}
	if o.Parent() == pkg.Scope() {
		return o.Name()
	}
	return ""
}

// knot returns the largest set of declarations that all depend on each other, and its percentage of the lines.
func (p *shape) knot() (names []string, percent int) {
	reach := map[string]map[string]bool{}
	for name := range p.uses {
		reach[name] = map[string]bool{}
		for todo := []string{name}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for next := range p.uses[at] {
				if !reach[name][next] {
					reach[name][next] = true
					todo = append(todo, next)
				}
			}
		}
	}
	total, most := 0, 0
	for name, n := range p.lines {
		total += n
		lines, circle := 0, []string(nil)
		for other := range reach[name] {
			if other != name && reach[other][name] {
				lines += p.lines[other]
				circle = append(circle, other)
			}
		}
		if len(circle) > 0 && lines+n > most {
			most, names = lines+n, append(circle, name)
		}
	}
	return names, 100 * most / max(total, 1)
}
