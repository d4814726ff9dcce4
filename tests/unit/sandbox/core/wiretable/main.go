// Command wiretable prints, as JSON, how the Go types of the built-in kinds are written in protobuf: for each struct the
// fields by number, each as its JSON name, a colon and its type. kubectl's typed commands send protobuf.
//
// Types: s string, b bool, i integer, f float64, y bytes, t time, d duration, q quantity, x int-or-string, r raw JSON,
// w list in a message of its own; [ list of, { map to, # message, @ message whose fields stand in the outer one.
//
// Run it where the modules of Kubernetes are known:
//
//	cd tests/controlplane/go && go run ../../unit/sandbox/core/wiretable/main.go > ../../../syncd/sandbox/data/wire.json
package main

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var leaves = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):    "q",
	reflect.TypeOf(intstr.IntOrString{}):   "x",
	reflect.TypeOf(metav1.Time{}):          "t",
	reflect.TypeOf(metav1.MicroTime{}):     "t",
	reflect.TypeOf(metav1.Duration{}):      "d",
	reflect.TypeOf(metav1.FieldsV1{}):      "r",
	reflect.TypeOf(runtime.RawExtension{}): "r",
	reflect.TypeOf([]byte{}):               "y",
}

var basics = map[reflect.Kind]string{
	reflect.String: "s", reflect.Bool: "b", reflect.Float64: "f",
	reflect.Int32: "i", reflect.Int64: "i", reflect.Int: "i", reflect.Uint8: "i", reflect.Uint16: "i", reflect.Uint32: "i",
}

type table map[string]map[string]string

func main() {
	stable := regexp.MustCompile(`^v\d+$`)
	types, kinds := table{}, map[string]string{}
	for gvk, known := range scheme.Scheme.AllKnownTypes() {
		_, isList := known.FieldByName("Items")
		if !stable.MatchString(gvk.Version) || isList || strings.Contains(known.PkgPath(), "meta/v1") && gvk.Kind != "DeleteOptions" {
			continue
		}
		if gvk.Kind == "DeleteOptions" && gvk.Group != "" {
			continue
		}
		kinds[gvk.GroupVersion().String()+"/"+gvk.Kind] = types.add(known)
	}
	fmt.Printf("{\"kinds\":{\n%s\n},\"types\":{\n", rows(kinds))
	for at, name := range slices.Sorted(maps.Keys(types)) {
		end := ","
		if at == len(types)-1 {
			end = ""
		}
		fmt.Printf("%q: {%s}%s\n", name, strings.ReplaceAll(rows(types[name]), ",\n", ", "), end)
	}
	fmt.Println("}}")
}

func rows(of map[string]string) string {
	lines := []string{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, fmt.Sprintf("%q: %q", key, of[key]))
	}
	return strings.Join(lines, ",\n")
}

// add notes a struct type and those below it, and gives its name.
func (t table) add(of reflect.Type) string {
	path := strings.Split(of.PkgPath(), "/")
	name := strings.Join(path[max(0, len(path)-2):], ".") + "." + of.Name()
	if _, seen := t[name]; seen {
		return name
	}
	fields := map[string]string{}
	t[name] = fields
	for i := range of.NumField() {
		field := of.Field(i)
		wire := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(wire) < 2 {
			continue
		}
		json := strings.Split(field.Tag.Get("json"), ",")[0]
		if json == "" {
			fields[wire[1]] = ":@" + t.add(field.Type)
		} else {
			fields[wire[1]] = json + ":" + t.shape(field.Type)
		}
	}
	return name
}

func (t table) shape(of reflect.Type) string {
	if leaf, ok := leaves[of]; ok {
		return leaf
	}
	if _, ok := reflect.PointerTo(of).MethodByName("Unmarshal"); ok && of.Kind() == reflect.Slice {
		return "w"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return t.shape(of.Elem())
	case reflect.Slice:
		return "[" + t.shape(of.Elem())
	case reflect.Map:
		return "{" + t.shape(of.Elem())
	case reflect.Struct:
		return "#" + t.add(of)
	}
	basic, ok := basics[of.Kind()]
	if !ok {
		panic(fmt.Sprintf("no letter for %v", of))
	}
	return basic
}
