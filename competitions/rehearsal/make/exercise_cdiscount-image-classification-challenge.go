package main

// drawCdiscount draws products with one to four pictures each: the color depends on the
// category.
func drawCdiscount(s *set) {
	words := []string{"TELEPHONIE", "LIVRE", "JARDIN", "MEUBLE", "JOUET", "LITERIE", "CUISINE", "SPORT", "BAGAGE", "AUTO", "PEINTURE", "LAMPE"}
	ids, levels := []int32{1000010653}, [][]string{}
	for len(ids) < len(words) {
		ids = append(ids, ids[len(ids)-1]+1+int32(s.IntN(900))) //nolint:gosec // below 2^31
	}
	for i, id := range ids {
		levels = append(levels, []string{itoa(int(id)), words[i], words[i] + " - ACCESSOIRE", "PIECE " + words[i] + " " + s.one("SEULE", "NEUVE", "À COMPOSER")})
	}
	tints := tintsFor(len(ids))
	products := func(first int32, n int, test bool) (data []byte, named [][]string) {
		id := first
		for range n {
			kind := s.weighted(5, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1)
			p := productBSON{id: id, category: ids[kind]}
			if test {
				p.category = 0
			}
			for range 1 + s.weighted(6, 2, 1, 1) {
				p.pictures = append(p.pictures, jpegOf(s.picture(18, 18, s.near(tints[kind]), 3)))
			}
			data = p.append(data)
			named = append(named, []string{itoa(int(id)), "1000010653"})
			id += 1 + int32(s.IntN(5)) //nolint:gosec // small
		}
		return data, named
	}
	train, _ := products(0, 260, false)
	example, _ := products(0, 10, false)
	test, sample := products(10, 5, true)
	s.file("train.bson", train)
	s.file("train_example.bson", example)
	s.file("test.bson", test)
	s.csv("category_names.csv", []string{"category_id", "category_level1", "category_level2", "category_level3"}, levels)
	s.csv("sample_submission.csv", []string{"_id", "category_id"}, sample)
}

// learnCdiscount classifies by the mean color of a product's first picture.
func learnCdiscount(l *lesson) {
	var x [][]float64
	var y []string
	for _, p := range productsBSON(l.file("train.bson")) {
		x, y = append(x, colors(p.pictures[0])), append(y, itoa(int(p.category)))
	}
	model, found := fitCentroids(x, y), map[string]string{}
	for _, p := range productsBSON(l.file("test.bson")) {
		found[itoa(int(p.id))] = model.class(colors(p.pictures[0]))
	}
	l.submitLike("sample_submission.csv", []string{"category_id"}, func(r *rows, i int) []string {
		return []string{found[r.get(i, "_id")]}
	})
}
