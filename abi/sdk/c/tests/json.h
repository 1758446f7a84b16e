// Reading JSON.

static BerthJsonText in;

static BerthJson parse(const char *text) {
  berth__scratch.used = 0;
  return berth_json_parse(&in, text);
}

static void texts_that_are_json(void) {
  static const char *const good[] = {
      "{}", " [ ] ", "\"\"", "0", "-0", "1.5e-3", "10E+2", "true", "false", "null", "{\"a\": [1, {\"b\": \"c\\u00e9\\/\"}], \"\": null}",
      "\n[\t1\r,\n2 ]\n", "\"é😀\"", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
  };
  static const char *const bad[] = {
      "", " ", "{", "}", "[1", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{\"a\": 1,}", "{a: 1}", "{1: 1}", "01", "-", "1.", ".5",
      "1e", "+1", "tru", "nul", "truefalse", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "{} {}", "[1 2]", "'a'", "NaN", "\"\\", "[1}",
      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    BerthJson v = parse(good[i]);
    CHECK_TEXT(in.error, "");
    CHECK(v.at != NULL);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    BerthJson v = parse(bad[i]);
    CHECK_TEXT(in.error, "line 1: this is not JSON");
    CHECK(berth_json_failed(v) && !berth_json_is_there(v) && berth_json_i64(v, 5) == 5);
  }
  parse("{\n\n\"a\": x}");
  CHECK_TEXT(in.error, "line 3: this is not JSON");
  parse("\"\xff\"");
  CHECK_TEXT(in.error, "the configuration is not UTF-8");
}

static void values(void) {
  BerthJson v = parse("{\"n\": -12, \"big\": 9223372036854775807, \"least\": -9223372036854775808, \"x\": 0.25, \"t\": true, \"f\": false,"
                      "\"s\": \"a\\\"\\u00e9\\ud83d\\ude00\\ud83dé\\n\", \"none\": null, \"l\": [1, 2, 3], \"twice\": 1, \"twice\": 2, \"k\\u0065y\": 5}");
  CHECK(berth_json_i64(berth_json_get(v, "n"), 0) == -12);
  CHECK(berth_json_i64(berth_json_get(v, "big"), 0) == INT64_MAX && berth_json_i64(berth_json_get(v, "least"), 0) == INT64_MIN);
  CHECK(berth_json_f64(berth_json_get(v, "x"), 0) == 0.25 && berth_json_f64(berth_json_get(v, "absent"), 7) == 7);
  CHECK(berth_json_bool(berth_json_get(v, "t"), false) && !berth_json_bool(berth_json_get(v, "f"), true));
  CHECK_TEXT(berth_json_text(berth_json_get(v, "s"), ""), "a\"é😀\xEF\xBF\xBDé\n");
  CHECK(berth_json_is(berth_json_get(v, "s"), "a\"é😀\xEF\xBF\xBDé\n") && !berth_json_is(berth_json_get(v, "s"), "a"));
  CHECK(!berth_json_is_there(berth_json_get(v, "none")) && !berth_json_is_there(berth_json_get(v, "absent")));
  CHECK(berth_json_i64(berth_json_get(v, "twice"), 0) == 2); // the last, as encoding/json has it
  CHECK(berth_json_i64(berth_json_get(v, "key"), 0) == 5);
  int64_t sum = 0, fields = 0;
  BERTH_JSON_ELEMENTS(n, berth_json_get(v, "l")) sum += berth_json_i64(n, 0);
  BERTH_JSON_ELEMENTS(n, berth_json_get(v, "none")) sum += 100;
  BERTH_JSON_FIELDS(f, v) fields++;
  CHECK(sum == 6 && fields == 12);
  BERTH_JSON_FIELDS(f, v) {
    CHECK_TEXT(berth_json_key(f), "n");
    break;
  }
  CHECK(berth_json_one_of(parse("\"b\""), 9, "a", "b") == 1);
  BERTH_JSON_ELEMENTS(n, parse("[]")) CHECK(false);
  BERTH_JSON_FIELDS(n, parse("{}")) CHECK(false);
  CHECK_TEXT(in.error, "");
}

// What was noted in the text since it was parsed.
#define NOTED(expression, want) \
  do { \
    in.error.n = 0; \
    (void)(expression); \
    CHECK_TEXT(in.error, want); \
  } while (0)

static BerthJson at(BerthJson list, int i) {
  BerthJson e = berth_json_elements(list);
  while (i-- > 0) e = berth_json_next(e);
  return e;
}

static void errors(void) {
  BerthJson v = parse("{\"a\": {\"b.c\": [1, \"x\", {\"d\": null}]}, \"n\": 1.5, \"huge\": 9223372036854775808, \"e\": 1e999}");
  BerthJson a = berth_json_need(v, "a"), list = berth_json_need(a, "b.c");
  BerthJson one = at(list, 0), x = at(list, 1), d = at(list, 2);
  NOTED(berth_json_i64(x, 0), "a.b.c[1]: expected a number, found a string");
  NOTED(berth_json_bool(one, false), "a.b.c[0]: expected true or false, found a number");
  NOTED(berth_json_text(d, ""), "a.b.c[2]: expected a string, found an object");
  NOTED(berth_json_need(d, "d"), "a.b.c[2]: the field d is missing");
  NOTED(berth_json_get(list, "x"), "a.b.c: expected an object, found a list");
  NOTED(berth_json_get(a, "b"), "");
  NOTED(berth_json_elements(a), "a: expected a list, found an object");
  NOTED(berth_json_i64(berth_json_get(v, "n"), 0), "n: 1.5 is not a whole number of 64 bits");
  NOTED(berth_json_i64(berth_json_get(v, "huge"), 0), "huge: 9223372036854775808 is not a whole number of 64 bits");
  NOTED(berth_json_f64(berth_json_get(v, "e"), 0), "e: 1e999 is beyond the numbers of 64 bits");
  NOTED(berth_json_need(v, "x"), "the configuration: the field x is missing");
  NOTED(berth_json_only(v, "a", "n", "e"), "huge: there is no such field; there are a, n, e");
  NOTED(berth_json_bool(v, false), "the configuration: expected true or false, found an object");
  NOTED(berth_json_one_of(x, 0, "y", "z"), "a.b.c[1]: expected one of y, z");
  NOTED(berth_json_error(d, "no"), "a.b.c[2]: no");
  // The first mistake counts, and after it everything is absent.
  NOTED((berth_json_i64(x, 0), berth_json_i64(one, 0), berth_json_error(v, "late")), "a.b.c[1]: expected a number, found a string");
  CHECK(berth_json_failed(v) && berth_json_i64(one, 9) == 9 && !berth_json_is_there(berth_json_get(v, "a")));
  BERTH_JSON_ELEMENTS(e, list) CHECK(false);
}

// Bits of a double; strtod of the C library is held to be right.
static void decimal(const char *text) {
  double got = 0, want = strtod(text, NULL);
  bool finite = berth__parse_f64(berth__c_string(text), &got);
  CHECK(finite == (want < HUGE_VAL && want > -HUGE_VAL));
  if (finite && memcmp(&got, &want, sizeof got) != 0) {
    fprintf(stderr, "%s is read as %a, want %a\n", text, got, want);
    exit(1);
  }
}

static void doubles(void) {
  static const char *const hard[] = {
      "0", "-0", "0.0e999", "1", "0.1", "0.5", "1e22", "1e23", "8.5e22", "123456789012345678", "9007199254740993", "9007199254740992.5",
      "9007199254740993.00000000000000000000000000000000000000001", "2.2250738585072011e-308", "2.2250738585072014e-308", "4.9406564584124654e-324",
      "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "1e-324", "1.7976931348623157e308", "1.7976931348623158e308",
      "1.7976931348623159e308", "1e308", "1e309", "-1e309", "0.000000000000000000000000000000000000000000000000000000000000000000001e69",
      "1.00000000000000011102230246251565404236316680908203125", "1.00000000000000011102230246251565404236316680908203124",
      "1.00000000000000011102230246251565404236316680908203126", "6.631236871469758276785396630275967242e-309",
      "3.237883913302901289588352412501532174863037669423108059901297049552301970670676565786835742587799557860615776559838283435514391084153169252689190564396459577394618038928365305143463955100356696665629202017331344031730044369360205258345803431471660032699580731300954848363975548690010751530018881758184174569652173110473696022749934638425380623369774736560008997404060967498028389191878963968575439222206416981462690113342524002724385941651051293552601421155333430225237291523843322331326138431477823591142408800030775170625915670728657003151953664260769822494937951845801530895238439819708403389937873241463484205608000027270531106827387907791444918534771598750162812548862768493201518991668028251730299953143924168545708663913273994694463908672332763671875E-319",
  };
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) decimal(hard[i]);
  uint64_t seed = 7;
  char text[64];
  for (int i = 0; i < 20000; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    double d;
    memcpy(&d, &seed, sizeof d);
    if (d != d || d - d != 0) continue;
    snprintf(text, sizeof text, "%.*e", (int)(seed >> 40) % 25, d);
    decimal(text);
    snprintf(text, sizeof text, "%.*f", (int)(seed >> 50) % 20, (double)(int64_t)seed / 1e9);
    decimal(text);
  }
  // More digits than are kept: the rest counts when it is not zero.
  char *many = malloc(2000);
  memset(many, '0', 2000);
  memcpy(many, "9007199254740993.", 17);
  many[1500] = '1';
  many[1999] = 0;
  decimal(many);
  many[1500] = '0';
  decimal(many);
  free(many);
}
