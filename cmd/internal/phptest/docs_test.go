package phptest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

// What the pages have people paste is what the library makes, and what is tested.
func TestThePagesHaveTheTableAndTheRecipe(t *testing.T) {
	schema, err := nebis.MySQL.Schema("")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(file(t, "php/checkout.php"), "    try {\n        ")
	recipe, _, ok := strings.Cut(recipe, "    } catch")
	if !ok {
		t.Fatal("checkout.php has no try")
	}
	recipe = strings.ReplaceAll(recipe, "\n        ", "\n")
	lines := strings.Count(file(t, "php/nebis.php"), "\n")
	for _, page := range []string{"docs/php.md", "docs/php.zh-CN.md"} {
		text := file(t, page)
		for what, want := range map[string]string{
			"the table": block("sql", schema), "the recipe of checkout.php": block("php", recipe), "the size": fmt.Sprintf(" %d ", lines),
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has not %s:\n%s", page, what, want)
			}
		}
	}
}

// block is code in a step of a list.
func block(language, code string) string {
	text := "```" + language + "\n" + strings.TrimSuffix(code, "\n") + "\n```\n"
	return "   " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n   ") + "\n"
}
