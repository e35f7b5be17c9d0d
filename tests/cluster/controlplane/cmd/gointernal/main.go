// SPDX-License-Identifier: Apache-2.0

// Prints src/sandbox/go_struct_table.inc: how the API server's internal types of pods and volumes are laid out in Go,
// because refusals of updates quote them (a diff of two structs as JSON). Each field comes with its name in that text
// and the name it has in v1.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core"
)

type field struct {
	name, from, wrap, form string
	item                   int
	empty                  bool
}

type layout struct {
	name   string
	fields []field
}

var layouts []*layout
var seen = map[reflect.Type]int{}
var marshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()

func tagOf(f reflect.StructField) (string, bool) {
	tag := f.Tag.Get("json")
	return strings.Split(tag, ",")[0], strings.Contains(tag, ",omitempty") || strings.Contains(tag, ",omitzero")
}

// The fields of a struct and of those embedded in it, by Go's name.
func flat(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _ := tagOf(f); f.Anonymous && name == "" {
			out = append(out, flat(f.Type)...)
		} else if f.IsExported() && name != "-" {
			out = append(out, f)
		}
	}
	return out
}

func peel(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	return t
}

func wrapOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return "POINTER"
	case t.Kind() == reflect.Map:
		return "MAP"
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return "LIST"
	}
	return "PLAIN"
}

func formOf(t reflect.Type) string {
	switch {
	case t.Name() == "Quantity":
		return "QUANTITY"
	case t.Name() == "IntOrString":
		return "INT_OR_STRING"
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		return "CUSTOM"
	case t.Kind() == reflect.Struct:
		return "STRUCT"
	case t.Kind() == reflect.String:
		return "STRING"
	case t.Kind() == reflect.Bool:
		return "BOOL"
	case t.Kind() == reflect.Slice:
		return "CUSTOM"
	}
	return "INT"
}

func visit(internal, outer reflect.Type) int {
	if at, ok := seen[internal]; ok {
		return at
	}
	at := len(layouts)
	seen[internal] = at
	l := &layout{name: internal.String()}
	layouts = append(layouts, l)
	from := map[string]reflect.StructField{}
	for _, f := range flat(outer) {
		from[f.Name] = f
	}
	if meta, ok := from["ObjectMeta"]; ok {
		for _, f := range flat(meta.Type) { // inline there, under "metadata" in v1
			if _, taken := from[f.Name]; !taken {
				name, _ := tagOf(f)
				f.Tag = reflect.StructTag(`json:"metadata.` + name + `"`)
				from[f.Name] = f
			}
		}
	}
	for _, f := range flat(internal) {
		name, empty := tagOf(f)
		if name == "" {
			name = f.Name
		}
		base := peel(f.Type)
		one := field{name: name, wrap: wrapOf(f.Type), form: formOf(base), empty: empty}
		other, ok := from[f.Name]
		if !ok {
			fmt.Fprintf(os.Stderr, "%s.%s has no counterpart\n", internal, f.Name)
		} else {
			one.from, _ = tagOf(other)
		}
		if one.form == "STRUCT" && ok {
			one.item = visit(base, peel(other.Type))
		}
		l.fields = append(l.fields, one)
	}
	return at
}

func main() {
	roots := []struct{ internal, outer any }{
		{core.PodSpec{}, v1.PodSpec{}},
		{core.PersistentVolumeClaimSpec{}, v1.PersistentVolumeClaimSpec{}},
		{core.PersistentVolumeSource{}, v1.PersistentVolumeSource{}},
	}
	for _, r := range roots {
		visit(reflect.TypeOf(r.internal), reflect.TypeOf(r.outer))
	}
	fmt.Println("/* SPDX-License-Identifier: Apache-2.0 */")
	fmt.Println("/* Printed by tests/cluster/controlplane/cmd/gointernal; do not edit. */")
	fmt.Println("static const struct go_field fields[] = {")
	first := 0
	starts := []int{}
	for _, l := range layouts {
		starts = append(starts, first)
		fmt.Printf("        /* %s */\n", l.name)
		for _, f := range l.fields {
			fmt.Printf("        { %q, %q, GO_%s, GO_%s, %d, %v },\n", f.name, f.from, f.wrap, f.form, f.item, f.empty)
		}
		first += len(l.fields)
	}
	fmt.Println("};")
	fmt.Println("static const struct go_layout layouts[] = {")
	for i, l := range layouts {
		fmt.Printf("        { %q, %d, %d },\n", l.name, starts[i], len(l.fields))
	}
	fmt.Println("};")
}
