package mcpchain_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// declared are the names of a package: its top-level names, and the members of its types.
type declared map[string]*declaration

type declaration struct {
	members map[string]string // the name of a member's type if it is of the package, "" otherwise
	open    bool              // members come from an embedded or another package's type, too
}

// has reports whether a package has a name, and the members after it as far as their types are known.
func (d declared) has(names []string) bool {
	of := d[names[0]]
	for _, name := range names[1:] {
		if of == nil || of.open {
			return of != nil
		}
		kind, ok := of.members[name]
		if !ok {
			return false
		}
		if of = d[kind]; of == nil {
			return true
		}
	}
	return of != nil
}

// TestNamesInProse checks that names in guides and doc comments, such as adapter.Policy and
// [Client.Close], exist and are exported.
func TestNamesInProse(t *testing.T) {
	packages := map[string]declared{} // by name
	files := map[string][]*ast.File{}
	folders := publicPackages(t)
	for _, folder := range folders {
		names, parsed := declarations(t, folder)
		packages[parsed[0].Name.Name], files[folder] = names, parsed
	}
	span, name := regexp.MustCompile("`[^`\n]+`"), regexp.MustCompile(`(^|[^\w/."-])([a-z]+)((?:\.[A-Z]\w*)+)`)
	for _, guide := range append(glob(t, "docs/*.md"), "README.md") {
		for _, code := range span.FindAllString(read(t, guide), -1) {
			for _, m := range name.FindAllStringSubmatch(code, -1) {
				if p := packages[m[2]]; p != nil && m[2] != "host" /* a mcpchain.Host there */ && !p.has(strings.Split(m[3][1:], ".")) {
					t.Errorf("%s: %s has no %s", guide, m[2], m[3][1:])
				}
			}
		}
	}
	link := regexp.MustCompile(`\[\*?((?:[a-z]+\.)?\w+(?:\.[A-Z]\w*)?)\]`)
	for _, folder := range folders {
		own := packages[files[folder][0].Name.Name]
		for _, file := range files[folder] {
			for _, text := range docsOf(file) {
				for _, m := range link.FindAllStringSubmatch(text, -1) {
					names, p := strings.Split(m[1], "."), own
					if first := names[0]; len(names) > 1 && !ast.IsExported(first) {
						names, p = names[1:], packages[first]
						inner := imported(file, first)
						check.That(t, !strings.Contains(inner, "/internal/"), "%s: [%s] leads to a package that its readers cannot see", folder, m[1])
					} else if own[first] == nil && !ast.IsExported(first) {
						continue // not a name
					}
					check.That(t, p == nil || p.has(names) && ast.IsExported(names[0]), "%s: [%s] is not there, or not exported", folder, m[1])
				}
			}
		}
	}
}

// imported returns the import path of a package name in a file.
func imported(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		if p := strings.Trim(spec.Path.Value, `"`); path.Base(p) == name {
			return p
		}
	}
	return ""
}

// declarations returns the names of the package in a folder, and its files without tests.
func declarations(t *testing.T, folder string) (declared, []*ast.File) {
	all, files := declared{}, filesOf(t, token.NewFileSet(), folder)
	of := func(name string) *declaration {
		if all[name] == nil {
			all[name] = &declaration{members: map[string]string{}}
		}
		return all[name]
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					of(decl.Name.Name)
				} else {
					of(typeName(decl.Recv.List[0].Type)).members[decl.Name.Name] = ""
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						of(spec.Name.Name).add(spec.Type)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							of(name.Name)
						}
					}
				}
			}
		}
	}
	return all, files
}

// add adds the members of a type.
func (d *declaration) add(of ast.Expr) {
	var fields *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	default:
		d.open = true
		return
	}
	for _, field := range fields.List {
		d.open = d.open || len(field.Names) == 0
		for _, name := range field.Names {
			d.members[name.Name] = typeName(field.Type)
		}
	}
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

// docsOf returns the comments of a file that go doc shows.
func docsOf(file *ast.File) (texts []string) {
	texts = append(texts, file.Doc.Text())
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(typeName(decl.Recv.List[0].Type))) {
				texts = append(texts, decl.Doc.Text())
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok && named.Name.IsExported() {
					texts = append(texts, decl.Doc.Text(), named.Doc.Text())
					ast.Inspect(named.Type, func(n ast.Node) bool {
						if field, ok := n.(*ast.Field); ok {
							texts = append(texts, field.Doc.Text(), field.Comment.Text())
						}
						return true
					})
				} else if values, ok := spec.(*ast.ValueSpec); ok && values.Names[0].IsExported() {
					texts = append(texts, decl.Doc.Text(), values.Doc.Text(), values.Comment.Text())
				}
			}
		}
	}
	return texts
}
