package main

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"
	"time"
)

// kindsFashion are the types of articles, and the color of their pictures.
var kindsFashion = []struct {
	no, kind, group, department, section, garment, garmentNo string
	color                                                    color.RGBA
}{
	{"253", "Vest top", "Garment Upper body", "Jersey Basic", "Womens Everyday Basics", "Jersey Basic", "1002", color.RGBA{190, 60, 60, 255}},
	{"272", "Trousers", "Garment Lower body", "Trouser", "Womens Everyday Collection", "Trousers", "1009", color.RGBA{60, 60, 160, 255}},
	{"265", "Dress", "Garment Full body", "Dress", "Womens Tailoring", "Dresses Ladies", "1013", color.RGBA{190, 160, 60, 255}},
	{"302", "Socks", "Socks & Tights", "Socks Bin", "Womens Nightwear, Socks & Tigh", "Socks and Tights", "1021", color.RGBA{110, 110, 110, 255}},
	{"95", "Shoes", "Shoes", "Premium Quality", "Womens Shoes", "Shoes", "1020", color.RGBA{70, 130, 70, 255}},
}

var columnsFashion = []string{
	"article_id", "product_code", "prod_name", "product_type_no", "product_type_name", "product_group_name", "graphical_appearance_no",
	"graphical_appearance_name", "colour_group_code", "colour_group_name", "perceived_colour_value_id", "perceived_colour_value_name",
	"perceived_colour_master_id", "perceived_colour_master_name", "department_no", "department_name", "index_code", "index_name",
	"index_group_no", "index_group_name", "section_no", "section_name", "garment_group_no", "garment_group_name", "detail_desc",
}

// articleFashion is an article of the shop.
type articleFashion struct {
	id    string
	kind  int
	price float64
}

// drawFashion draws two years of purchases: customers mostly buy what they bought before,
// or articles of the kind that they like, and some articles are in demand.
func drawFashion(s *set) {
	articles := s.articlesFashion()
	var popular []float64
	for range articles {
		popular = append(popular, 1/s.between(0.05, 1))
	}
	type sale struct {
		day int
		row []string
	}
	var sales []sale
	var customers, sample [][]string
	last := time.Date(2020, 9, 22, 0, 0, 0, 0, time.UTC)
	for k := range 130 {
		id, likes := s.hex(64), s.IntN(len(kindsFashion))
		customers = append(customers, s.customerFashion(id))
		sample = append(sample, []string{id, strings.Join([]string{articles[0].id, articles[1].id, articles[2].id}, " ")})
		days := []int{s.IntN(8)}
		if k%3 == 0 {
			days[0] = 10 + s.IntN(80)
		}
		for range 1 + s.IntN(4) {
			days = append(days, 8+int(720*s.Float64()*s.Float64()))
		}
		slices.Sort(days)
		slices.Reverse(days)
		var bought []articleFashion
		for _, day := range days {
			for range 1 + s.IntN(2) {
				a := articles[s.weighted(popular...)]
				for try := 0; try < 4 && a.kind != likes; try++ {
					a = articles[s.weighted(popular...)]
				}
				if len(bought) > 0 && s.Float64() < 0.4 {
					a = bought[s.IntN(len(bought))]
				}
				bought = append(bought, a)
				sales = append(sales, sale{day, []string{
					last.AddDate(0, 0, -day).Format("2006-01-02"), id, a.id, ftoa(a.price*s.between(0.9, 1), 16), itoa(1 + s.weighted(3, 7)),
				}})
			}
		}
	}
	slices.SortStableFunc(sales, func(a, b sale) int { return cmp.Compare(b.day, a.day) })
	var cells [][]string
	for _, v := range sales {
		cells = append(cells, v.row)
	}
	s.csv("transactions_train.csv", []string{"t_dat", "customer_id", "article_id", "price", "sales_channel_id"}, cells)
	s.csv("customers.csv", []string{"customer_id", "FN", "Active", "club_member_status", "fashion_news_frequency", "age", "postal_code"}, customers)
	s.csv("sample_submission.csv", []string{"customer_id", "prediction"}, sample)
}

// articlesFashion draws the articles and the pictures of most of them.
func (s *set) articlesFashion() (articles []articleFashion) {
	var cells [][]string
	tones := [][]string{{"9", "Black", "4", "Dark", "5", "Black"}, {"10", "White", "3", "Light", "9", "White"}, {"73", "Dark Blue", "4", "Dark", "2", "Blue"}}
	code := 108775
	for k := range 60 {
		if k%3 != 2 {
			code += 1 + s.IntN(14000)
		}
		kind := s.IntN(len(kindsFashion))
		a := articleFashion{fmt.Sprintf("0%06d%03d", code, k%3+1), kind, s.between(0.008, 0.06)}
		f, tone := kindsFashion[kind], tones[s.IntN(3)]
		row := slices.Concat(
			[]string{a.id, itoa(code), s.one("Strap", "Tilda", "Jade", "Luna", "Alex") + " " + strings.ToLower(f.kind), f.no, f.kind, f.group, "1010016", "Solid"},
			tone,
			[]string{"1676", f.department, "A", "Ladieswear", "1", "Ladieswear", "16", f.section, f.garmentNo, f.garment, f.kind + " in " + s.one("soft", "light", "thick") + " " + s.one("cotton", "jersey, lined", "wool") + "."},
		)
		if k%20 == 7 {
			row[len(row)-1] = ""
		}
		cells = append(cells, row)
		if k%15 != 4 {
			s.file("images/"+a.id[:3]+"/"+a.id+".jpg", jpegOf(s.picture(20, 30, f.color, 1)))
		}
		articles = append(articles, a)
	}
	s.csv("articles.csv", columnsFashion, cells)
	return articles
}

// customerFashion draws what the shop knows of a customer, with gaps.
func (s *set) customerFashion(id string) []string {
	r := []string{id, "", "", s.one("ACTIVE", "ACTIVE", "ACTIVE", "PRE-CREATE"), "NONE", itoa(18+s.IntN(55)) + ".0", s.hex(4) + strings.Repeat("0", 60)}
	if s.Float64() < 0.4 {
		r[1], r[2], r[4] = "1.0", "1.0", "Regularly"
	}
	if s.Float64() < 0.03 {
		r[3], r[5] = "", ""
	}
	return r
}

// learnFashion predicts the articles that a customer bought last, then the favorites of
// all customers among the kinds that this one bought, then the others.
func learnFashion(l *lesson) {
	sales, articles := l.rows("transactions_train.csv"), l.rows("articles.csv")
	kind := map[string]string{}
	for i := range articles.len() {
		kind[strings.TrimLeft(articles.get(i, "article_id"), "0")] = articles.get(i, "product_type_no")
	}
	counts, bought := map[string]int{}, map[string][]string{}
	likes := map[string]map[string]int{}
	for i := range sales.len() {
		article, customer := sales.get(i, "article_id"), sales.get(i, "customer_id")
		counts[article]++
		bought[customer] = append(bought[customer], article)
		if likes[customer] == nil {
			likes[customer] = map[string]int{}
		}
		likes[customer][kind[strings.TrimLeft(article, "0")]]++
	}
	favorites := slices.Sorted(maps.Keys(counts))
	l.submitLike("sample_submission.csv", []string{"prediction"}, func(r *rows, i int) []string {
		customer := r.get(i, "customer_id")
		weight := func(article string) int {
			return counts[article] * (1 + 5*likes[customer][kind[strings.TrimLeft(article, "0")]])
		}
		ranked := slices.Clone(favorites)
		slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(weight(b), weight(a)) })
		own := slices.Clone(bought[customer])
		slices.Reverse(own)
		var list []string
		for _, article := range append(own, ranked...) {
			if !slices.Contains(list, article) && len(list) < 12 {
				list = append(list, article)
			}
		}
		return []string{strings.Join(list, " ")}
	})
}
