# Shell scripts that end the same over a workspace as over just-bash's own filesystem in memory (scripts.test.mjs).
#
# Paragraphs are scripts. The first makes what each of the others finds, in a directory of its own. `#: ` begins a section; those that say `posix` are not run under the policy `collab`, which has neither modes nor
# links.

mkdir -p docs/guides src/lib data empty
printf 'alpha\nbeta\ngamma\ndelta\n' > docs/a.txt
printf '# Title\n\nSome *text* here.\n\n- one\n- two\n' > docs/guide.md
printf 'Read me first.\nTODO: write this\n' > docs/guides/intro.md
printf 'export const one = 1\nexport const two = 2 // TODO: three\n' > src/main.ts
printf 'import { one } from "../main"\nconsole.log(one)\n' > src/lib/use.ts
printf 'name,age,city\nada,36,london\nbob,41,paris\ncy,29,rome\ndee,36,oslo\n' > data/people.csv
printf '{"name":"yfs","deps":{"a":1,"b":2},"list":[3,1,2]}\n' > data/config.json
printf '10\n9\n100\n1\n9\n' > data/numbers.txt
printf '\x00\x01\xff\xfebin\n' > data/raw.bin
: > data/nothing
find . -type f -exec touch -d '2024-01-02 03:04:05' {} +

#: ls

ls

ls -a

ls -l

ls -la docs

ls -lR . | head -40

ls -1 docs src data

ls -R

ls -t docs; touch -d '2024-05-05' docs/a.txt; ls -t docs; ls -tr docs

ls -S data

ls -lh data

ls -d docs src d*

ls -F

ls none; echo "code $?"

ls docs/a.txt none data/people.csv; echo "code $?"

ls '*.md' docs/*.md; echo "code $?"

ls empty; ls -A empty | wc -l

#: find

find .

find . -type f | sort

find . -type d | sort

find . -name '*.md'

find . -iname 'GUIDE*'

find docs -maxdepth 1

find . -mindepth 2 -name '*.t*'

find . -path '*/lib/*'

find . -type f -empty

find . -type d -empty

find . -size +60c -type f | sort

find . -size -10c -type f | sort

touch -d '2024-06-01' docs/a.txt; find . -newer src/main.ts -type f

find . -name '*.ts' -exec wc -l {} \;

find . -name '*.ts' -exec cat {} +

find . -name '*.txt' -print0 | xargs -0 ls

find docs -name '*.md' -o -name '*.txt' | sort

find . -not -name '*.*' -type f

find . -type f -name '*.txt' -delete; find . -type f | sort

find . -name docs -prune -o -type f -print | sort

find none; echo "code $?"

find . -type f -printf '%p %s\n' | sort

find . \( -name '*.md' -or -name '*.csv' \) -and -type f | sort

find . -name 'empty' -type d -exec rmdir {} \; ; ls

#: grep

grep TODO docs/guides/intro.md

grep -r TODO . | sort

grep -rn TODO . | sort

grep -rl one src | sort

grep -rc a docs | sort

grep -i ALPHA docs/a.txt

grep -v a docs/a.txt; echo "code $?"

grep -n 'a$' docs/a.txt

grep -c a docs/a.txt data/people.csv

grep -E '^(alpha|gamma)$' docs/a.txt

grep -o '[0-9][0-9]*' data/people.csv

grep -w one src/main.ts

grep -q alpha docs/a.txt && echo found

grep -q omega docs/a.txt || echo missing

grep nothing none; echo "code $?"

grep -A1 beta docs/a.txt

grep -B1 -C1 gamma docs/a.txt

grep -F '*text*' docs/guide.md

grep -rn --include='*.ts' one . | sort

grep -r --exclude='*.md' --exclude-dir=src TODO .; echo "code $?"

grep -h one src/main.ts src/lib/use.ts

grep -l TODO docs/*.md docs/guides/*.md; grep -L TODO docs/*.md

grep -m1 a docs/a.txt

grep -x beta docs/a.txt

grep -e alpha -e delta docs/a.txt

cat docs/a.txt | grep -n t

egrep 'a|b' docs/a.txt | head -2; fgrep 'o*' docs/guide.md; echo "code $?"

grep bin data/raw.bin; echo "code $?"

#: rg

rg TODO | sort

rg -n one src | sort

rg -l TODO | sort

rg -c a docs | sort

rg --files | sort

rg -i ALPHA

rg -t ts one | sort

rg -g '*.md' TODO

rg -F 'one }' src

rg -v a docs/a.txt; echo "code $?"

rg none_of_that; echo "code $?"

rg -o '[0-9]+' data/people.csv

rg -A1 beta docs/a.txt

rg --hidden secret; printf 'secret\n' > .hidden; rg secret; rg --hidden secret

printf 'docs\n' > .gitignore; rg --files | sort

rg -r 'ONE' one src/main.ts

rg -w two src --no-filename

#: cat, head, tail, wc

cat docs/a.txt

cat docs/a.txt data/numbers.txt

cat -n docs/guide.md

cat -A data/raw.bin

cat none docs/a.txt; echo "code $?"

cat docs; echo "code $?"

echo piped | cat - docs/a.txt

head -n 2 docs/a.txt

head -c 5 docs/a.txt

head -n -1 docs/a.txt

head -n1 docs/a.txt docs/guide.md

tail -n 2 docs/a.txt

tail -n +3 docs/a.txt

tail -c 6 docs/a.txt

tail -n1 docs/a.txt data/numbers.txt

tac docs/a.txt; rev docs/a.txt

wc docs/a.txt

wc -l docs/*.txt data/*.txt

wc -c data/raw.bin; wc -w docs/guide.md

cat docs/a.txt | wc -l

nl docs/guide.md; od -c data/raw.bin; strings data/raw.bin

fold -w 10 docs/guides/intro.md; column -t -s, data/people.csv

#: sed

sed 's/a/A/' docs/a.txt

sed -n 2,3p docs/a.txt

sed -i 's/alpha/omega/' docs/a.txt; cat docs/a.txt

sed -i '2d' docs/a.txt; cat docs/a.txt

sed -i.bak 's/beta/BETA/' docs/a.txt; ls docs; cat docs/a.txt docs/a.txt.bak

sed -i '1i first' docs/a.txt; cat docs/a.txt

sed -i '$a last' docs/a.txt; cat docs/a.txt

sed -i -e 's/one/eins/g' -e 's/two/zwei/' src/main.ts; cat src/main.ts

sed -i 's/TODO/DONE/' docs/guides/intro.md src/main.ts; grep -rn DONE . | sort

sed -i '/beta/,/gamma/d' docs/a.txt; cat docs/a.txt

sed -E 's/([a-z]+),([0-9]+)/\2:\1/' data/people.csv

sed -i 's/x/y/' none; echo "code $?"

sed '1!G;h;$!d' docs/a.txt

sed -i 's/\(.*\)/<\1>/' docs/a.txt; cat docs/a.txt

sed -i '' docs/a.txt 2>&1; echo "code $?"; cat docs/a.txt

sed -n '/TODO/p' docs/guides/intro.md > todo.txt; cat todo.txt

sed -i 's/$/\r/' docs/a.txt; od -c docs/a.txt | head -3

sed -i -n '/a/p' docs/a.txt; sed -n '$=' docs/a.txt

sed y/abc/xyz/ docs/a.txt; sed = docs/a.txt | head -4

sed 'w out.txt' docs/a.txt > none.txt; cat out.txt

#: awk

awk '{print NR": "$0}' docs/a.txt

awk -F, '{print $1}' data/people.csv

awk -F, 'NR>1 {sum+=$2} END {print sum}' data/people.csv

awk -F, '$2==36 {print $1, $3}' data/people.csv

awk 'END {print NR}' docs/a.txt docs/guide.md

awk '/TODO/ {print FILENAME": "$0}' docs/guides/intro.md src/main.ts

awk '{n[$1]++} END {for (k in n) print k, n[k]}' data/numbers.txt | sort

awk 'BEGIN {printf "%05.2f|%s|%x\n", 3.14159, "hi", 255}'

awk '{print > "out-" NR ".txt"}' docs/a.txt; ls; cat out-2.txt

awk '{print >> "all.txt"}' docs/a.txt; awk '{print toupper($0) >> "all.txt"}' docs/a.txt; cat all.txt

awk 'length > 4' docs/a.txt; awk '{gsub(/a/,"-"); print}' docs/a.txt

awk 'BEGIN {while ((getline line < "docs/a.txt") > 0) n++; print n}'

awk -v who=ada -F, '$1==who' data/people.csv

#: sort, uniq, cut, tr

sort docs/a.txt

sort -n data/numbers.txt

sort -rn data/numbers.txt | uniq -c

sort -u data/numbers.txt

sort -t, -k2,2n -k1,1 data/people.csv

sort -o docs/a.txt docs/a.txt; cat docs/a.txt

sort -r docs/a.txt > docs/b.txt; cat docs/b.txt

sort docs/a.txt > docs/a.txt; cat docs/a.txt; wc -c docs/a.txt

sort none; echo "code $?"

uniq data/numbers.txt; sort data/numbers.txt | uniq -d

cut -d, -f1,3 data/people.csv; cut -c1-3 docs/a.txt

tr a-z A-Z < docs/a.txt; tr -d '\n' < docs/a.txt; tr -s 'a' < docs/a.txt

paste docs/a.txt data/numbers.txt; paste -sd, docs/a.txt

sort docs/a.txt > s1; printf 'beta\nzeta\n' > s2; comm s1 s2; comm -12 s1 s2; join s1 s2

seq 5 | tee seq.txt | tail -n1; cat seq.txt; expr 3 + 4; seq 10 -3 1

#: tee, xargs

echo one | tee t.txt; cat t.txt

echo two | tee -a docs/a.txt; cat docs/a.txt

echo both | tee t1 t2 t3 > /dev/null; cat t1 t2 t3

cat docs/a.txt | tee docs/copy.txt | wc -l; diff docs/a.txt docs/copy.txt && echo same

echo x | tee none/deep/file; echo "code $?"; cat none/deep/file

ls docs | xargs echo

find . -name '*.ts' | sort | xargs wc -l

find . -name '*.ts' | xargs -I {} cp {} {}.bak; find . -name '*.bak' | sort

printf 'a b c d' | xargs -n 2 echo

printf 'f1\nf2\nf3\n' | xargs touch; ls

find . -name '*.md' -print0 | xargs -0 grep -l TODO

printf 'x\ny\n' | xargs -I % sh -c 'echo % > %.txt'; cat x.txt y.txt

#: cp

cp docs/a.txt copy.txt; cat copy.txt

cp docs/a.txt docs/guide.md empty; ls empty

cp -r docs docs2; find docs2 | sort

cp -r docs empty; find empty | sort

cp -r docs/. empty; find empty | sort

cp docs empty; echo "code $?"; ls empty

cp none here; echo "code $?"

cp docs/a.txt docs/guide.md; cat docs/guide.md

cp docs/a.txt docs/a.txt; echo "code $?"

cp -r docs docs/guides; echo "code $?"; find docs | sort

cp data/raw.bin raw2.bin; cmp data/raw.bin raw2.bin 2>/dev/null; md5sum data/raw.bin raw2.bin

cp -n docs/a.txt docs/guide.md; head -1 docs/guide.md

cp -v docs/a.txt v.txt; cp -rv src/lib lib2

cp -p docs/a.txt p.txt; stat -c '%n %s' p.txt; ls -l p.txt

mkdir a b; echo 1 > a/x; echo 2 > b/x; echo 3 > b/y; cp -r a/. b; cat b/x b/y

cp -r none other; echo "code $?"; cp -r src new/deep; echo "code $?"; find . -name '*.ts' | sort

#: mv

mv docs/a.txt docs/b.txt; ls docs; cat docs/b.txt

mv docs/a.txt .; ls . docs

mv docs/a.txt docs/guide.md empty; ls empty docs

mv docs papers; find papers | sort; ls

mv docs empty; find empty | sort

mv none here; echo "code $?"

mv docs/a.txt docs/guide.md; cat docs/guide.md; ls docs

mv docs docs/guides; echo "code $?"; ls docs

mv docs docs/guides/in; echo "code $?"; find docs | sort

mv -n docs/a.txt docs/guide.md; ls docs; head -n1 docs/guide.md

mv -v docs/a.txt docs/z.txt

mkdir a; echo 1 > a/x; mv a b; mv b/x c; ls b; cat c

mv docs/a.txt src/main.ts; cat src/main.ts; mv src/main.ts docs/a.txt; ls src

mv docs src data all; echo "code $?"; mkdir all; mv docs src data all; find all -maxdepth 1 | sort

for f in docs/*.md; do mv "$f" "${f%.md}.markdown"; done; ls docs

mv src docs/guides && ls docs/guides && mv docs/guides/src . && ls src

mv empty 'name with spaces'; mv 'name with spaces' "it's"; ls

#: rm, rmdir, mkdir

rm docs/a.txt; ls docs

rm -rf docs; ls

rm docs; echo "code $?"; ls

rm none; echo "code $?"

rm -f none; echo "code $?"

rm -r src data/*.txt; find . | sort

rm -v docs/a.txt docs/guide.md; ls docs

rmdir empty; echo "code $?"; ls

rmdir docs; echo "code $?"

rmdir none; echo "code $?"

rm -rf docs; mkdir docs; echo new > docs/a.txt; cat docs/a.txt; ls docs

rm -rf ./* ; ls -A; echo again > x; ls

mkdir a; mkdir a; echo "code $?"

mkdir -p a/b/c; mkdir -p a/b; find a

mkdir a/b; echo "code $?"; ls

mkdir docs/a.txt; echo "code $?"; mkdir -p docs/a.txt; echo "code $?"

mkdir -v one two; mkdir -p {x,y}/{1,2}; find x y | sort

mkdir -p a/b/c && rmdir -p a/b/c; ls

mkdir ' ' && echo blank > ' / ' ; echo "code $?"; find . -name '* *'

#: touch, stat

touch new; ls new; stat -c '%s %F' new

touch -d '2020-02-02 02:02:02' docs/a.txt; stat -c '%n %s %Y' docs/a.txt; date -r docs/a.txt +%Y 2>&1 | head -1

touch -c none; ls none; echo "code $?"

touch a b c; ls; touch docs; echo "code $?"

touch none/x; echo "code $?"; ls none

touch -d '2021-01-01' a; touch -d '2022-01-01' b; [ a -nt b ] || echo older; [ b -nt a ] && echo newer; [ a -ot b ] && echo ot

stat -c '%n %a %s %F' docs docs/a.txt data/nothing

stat docs/a.txt | head -3

stat none; echo "code $?"

stat -c '%A %U %G' src/main.ts src

[ -f docs/a.txt ] && [ -d docs ] && [ ! -e none ] && [ -s docs/a.txt ] && [ ! -s data/nothing ] && echo yes

test -r docs/a.txt && test -w docs/a.txt && echo rw; test -x docs/a.txt || echo 'not x'; test -x docs && echo dir

[[ -e docs && -d docs && ! -f docs ]] && echo dir; [[ docs/a.txt -nt data ]]; echo "code $?"

#: du, tree, split, file

du docs | sort -k2

du -a docs | sort -k2

du -s docs src; du -sh data; du -c docs src | tail -n1

tree

tree -L 1

tree -a docs; tree -d; tree -f src

split -l 2 docs/a.txt; ls; cat xaa xab

split -b 6 docs/a.txt part-; ls part-*; cat part-* | diff - docs/a.txt && echo whole

split -l 1 -d docs/a.txt n; ls n*; cat n02

split -l1 docs/a.txt; rm docs/a.txt; cat x?? > docs/a.txt; cat docs/a.txt

file docs/a.txt data/raw.bin data/config.json src/main.ts docs data/nothing

file -b docs/guide.md; file -i docs/a.txt; file none

#: globs

echo *

echo */*

echo docs/*.md data/*.[ct]*

shopt -s globstar; echo **

shopt -s globstar; echo **/*.md; echo **/

shopt -s globstar; for f in **/*.ts; do echo "$f $(wc -l < "$f")"; done

shopt -s globstar; cat src/**/*.ts | wc -l; rm **/*.txt; ls **/ | head -20

echo no*such; shopt -s nullglob; echo no*such; shopt -s failglob; echo no*such; echo "code $?"

shopt -s dotglob; touch .x; echo *; shopt -u dotglob; echo *

shopt -s extglob; echo docs/!(a*); echo data/@(people|config).*; echo data/+([a-z]).txt

echo d?cs [ds]*; echo "*"; echo '*'.md; set -f; echo *

files=(docs/*); echo ${#files[@]} "${files[0]}"; for f in data/*; do echo "${f##*/}"; done

ls {docs,src}/* ; echo {a,b}{1..3}; mkdir -p t/{a..c}; ls t

#: redirections

echo one > f; echo two >> f; cat f

echo one > docs/a.txt; cat docs/a.txt

: > docs/a.txt; wc -c docs/a.txt; echo after >> docs/a.txt; cat docs/a.txt

> f; ls f; cat f; stat -c %s f

> docs/a.txt; cat docs/a.txt; stat -c %s docs/a.txt

cat < docs/a.txt; wc -l < docs/a.txt > count; cat count

ls none > out 2> err; cat out err

ls docs none > all 2>&1; cat all

ls none &> all; cat all; ls none &>> all; wc -l < all

{ echo a; echo b; } > f; cat f; ( echo c; echo d ) >> f; cat f

for i in 1 2 3; do echo "line $i"; done > loop; cat loop

while read -r line; do echo "<$line>"; done < docs/a.txt > out; cat out

echo x > none/deep/file; echo "code $?"; cat none/deep/file

echo x > docs; echo "code $?"

cat < none; echo "code $?"

set -o noclobber; echo a > f; echo b > f; echo "code $?"; echo c >| f; cat f

exec 3> three; echo to-three >&3; exec 3>&-; cat three

exec 4< docs/a.txt; read -r -u 4 x; read -r -u 4 y; echo "$x $y"

echo err >&2; echo out; ls docs >&2

cat docs/a.txt > docs/a.txt; wc -c < docs/a.txt

grep -v beta docs/a.txt > tmp && mv tmp docs/a.txt; cat docs/a.txt

echo "$(cat docs/a.txt)" > docs/a.txt; cat docs/a.txt

printf '\xff\x00\xfe' > b; od -c b; printf 'caf\xc3\xa9\n' >> b; od -c b; cat b | wc -c

echo a > f; echo b > f; echo c > f; cat f; ls

echo quiet > /dev/null; cat /dev/null; ls none 2> /dev/null; echo "code $?"

false > f; echo "code $?"; cat f; nosuchcommand > g; echo "code $?"; cat g

printf 'a\0b' > nul; wc -c nul; tr '\0' '\n' < nul

echo 1 > f; { cat f; echo 2; } > g; cat g; cat f g > h; cat h

#: here-documents and -strings

cat <<END
plain $((1 + 1))
END

cat <<'END' > f
raw $HOME
END
cat f

cat <<-END > docs/a.txt
	indented
	  more
	END
cat docs/a.txt

cat <<A; cat <<B
a
A
b
B

while read -r a b; do echo "$b $a"; done <<END > pairs
1 one
2 two
END
cat pairs

cat <<< "here $((6 * 7))" > f; cat f

cat >> docs/a.txt <<END
epsilon
zeta
END
cat docs/a.txt

x=$(cat <<END
in a substitution
END
); echo "$x"; wc -c <<< abc

tee a b <<END
to both
END
cat a b

#: process substitution

diff <(sort docs/a.txt) <(sort -r docs/a.txt); echo "code $?"

cat <(echo one) <(echo two)

paste <(seq 3) <(seq 4 6)

while read -r x; do echo "got $x"; done < <(head -n2 docs/a.txt)

echo out > >(cat > sub.txt); sleep 0; cat sub.txt

comm -12 <(sort docs/a.txt) <(printf 'alpha\nomega\n')

#: tar and gzip

tar cf all.tar docs; tar tf all.tar | sort

tar cf all.tar docs src; mkdir out; tar xf all.tar -C out; find out | sort; diff docs/a.txt out/docs/a.txt && echo same

tar czf all.tgz data; rm -r data; tar xzf all.tgz; ls data; md5sum data/raw.bin

tar cf a.tar docs/a.txt; tar rf a.tar docs/guide.md; tar tf a.tar; tar xOf a.tar docs/a.txt

tar cvf a.tar docs; tar xf none.tar; echo "code $?"

tar cf - src | tar tf - | sort

tar -cf a.tar --exclude='*.md' docs; tar tf a.tar; tar xf a.tar docs/a.txt; cat docs/a.txt

gzip docs/a.txt; ls docs; gunzip docs/a.txt.gz; cat docs/a.txt

gzip -k docs/a.txt; ls docs; zcat docs/a.txt.gz; gzip -l docs/a.txt.gz | wc -l

gzip -c docs/guide.md > g.gz; gunzip -c g.gz | diff - docs/guide.md && echo same; file g.gz

gzip none; echo "code $?"; gzip docs; echo "code $?"; gzip -r src; find src | sort

cat data/raw.bin | gzip | gunzip | md5sum; md5sum < data/raw.bin

gzip -9 data/people.csv; gzip -d data/people.csv.gz; wc -l data/people.csv; gzip -t data/people.csv; echo "code $?"

#: base64, checksums

base64 docs/a.txt

base64 data/raw.bin > raw.b64; base64 -d raw.b64 > raw2; md5sum raw2 data/raw.bin

echo aGVsbG8= | base64 -d; base64 -w 0 docs/guide.md

md5sum docs/*.txt data/* > sums; md5sum -c sums; echo changed > docs/a.txt; md5sum -c sums; echo "code $?"

sha1sum docs/a.txt; sha256sum docs/a.txt data/raw.bin

#: jq, yq, csv, databases

jq . data/config.json

jq -r .name data/config.json

jq '.list | sort' data/config.json; jq -c '.deps | keys' data/config.json

jq '.version = "1.0"' data/config.json > t && mv t data/config.json; jq -r .version data/config.json

jq -s 'length' data/config.json data/config.json; jq .x none; echo "code $?"

jq -n '[1,2,3] | add'; echo '{"a":[1,{"b":2}]}' | jq -c '.a[1].b, .a[0]'; jq '.[' data/config.json; echo "code $?"

jq -r '.deps | to_entries[] | "\(.key)=\(.value)"' data/config.json > env; . ./env; echo "$a $b"

jq --slurpfile c data/config.json -n '$c[0].name'; jq --rawfile t docs/a.txt -n '$t | length'

printf 'a: 1\nb:\n  - x\n  - y\n' > c.yaml; yq '.b[1]' c.yaml; yq -o json . c.yaml

xan headers data/people.csv; xan select name,city data/people.csv; xan sort -s age data/people.csv

xan filter 'age > 35' data/people.csv > old.csv; cat old.csv; xan count old.csv

#: diff

diff docs/a.txt docs/a.txt; echo "code $?"

diff docs/a.txt data/numbers.txt; echo "code $?"

cp docs/a.txt b.txt; sed -i 's/beta/BETA/' b.txt; diff -u docs/a.txt b.txt | tail -n +3; diff -q docs/a.txt b.txt

diff docs/a.txt none; echo "code $?"

diff -i docs/a.txt <(tr a-z A-Z < docs/a.txt); echo "code $?"; diff -s docs/a.txt docs/a.txt

#: paths and names

realpath docs/../src/main.ts | sed 's,.*/src,src,'; realpath none | sed 's,.*/none,none,'; echo "code $?"

basename docs/a.txt .txt; dirname docs/guides/intro.md; basename -a docs/*; (cd docs && basename "$PWD")

cd docs; ls; cd guides; cat intro.md; cd ../..; ls; cd none; echo "code $?"; cd docs/a.txt; echo "code $?"

pushd docs > /dev/null; ls; popd > /dev/null; ls | head -2; cd docs && cd - > /dev/null && ls -d src

echo x > './-dash'; cat ./-dash; rm -- -dash; ls

echo x > 'a"b'; echo y > "a'b"; echo z > 'a*b'; ls; cat 'a*b'; rm 'a*b'; ls

echo ü > 'ümläut.txt'; cat ümläut.txt; ls | tail -n1; mv ümläut.txt 日本; cat 日本; find . -name '日*'

touch .hidden ..twice ...; ls -A; ls

echo 1 > A; echo 2 > a; ls; cat A a; sort A a

#: programs in the shell

while IFS=, read -r name age city; do [ "$age" = 36 ] && echo "$name of $city"; done < data/people.csv > found; cat found

for f in $(find . -name '*.md'); do n=$(wc -w < "$f"); echo "$f: $n" >> words; done; cat words

count() { ls "$1" | wc -l; }; count docs; count data; declare -f count > /dev/null && echo defined

cat > run.sh <<'END'
echo "args: $#: $*"
echo "made by script" > made
END
sh run.sh one two; bash run.sh; cat made

echo 'greet() { echo "hello $1"; }' > lib.sh; . ./lib.sh; greet ada; source lib.sh; greet bob

echo hi > hi; exit 3; echo never

set -e; echo before; cat none; echo never

i=0; while [ $i -lt 5 ]; do echo $i >> n; i=$((i + 1)); done; cat n; until ! [ -s n ]; do : > n; done; wc -c n

case $(head -n1 docs/a.txt) in al*) echo starts > r ;; *) echo other > r ;; esac; cat r

mapfile -t lines < docs/a.txt; echo "${#lines[@]} ${lines[2]}"; printf '%s\n' "${lines[@]}" > back; diff back docs/a.txt && echo same

declare -A seen; while read -r n; do seen[$n]=1; done < data/numbers.txt; echo ${#seen[@]}

(cd src && echo inside > here); ls src; cat src/here; x=$(cd docs && ls | head -n1); echo "$x"

test -f config || echo 'key=1' > config; test -f config && cat config; echo 'key=2' >> config; grep -c key config

timeout 5 cat docs/a.txt; sleep 0.01; echo done

echo '#include <x>' > x.c; grep -l include *.c; which ls cat; type cd; env | grep -c PATH

html-to-markdown <<< '<h1>Hi</h1><p>there</p>' > h.md; cat h.md; printf '%s\n' b a | sort | xargs -n 1 > o; cat o

history | head -n1; hostname; whoami; date -d '2024-01-01' +%F

expand docs/a.txt | head -n1; printf 'a\tb\n' | expand > e; unexpand -a e | od -c; cat e

for n in 1 2 3; do mkdir -p "v$n"; cp -r docs "v$n/"; sed -i "s/alpha/version $n/" "v$n/docs/a.txt"; done; grep -r version . | sort; rm -rf v1 v3; ls

mkdir -p p/{src,test}; echo 'x' > p/src/a; echo 'y' > p/test/b; find p -exec touch -d '2024-01-02' {} +; tar cf p.tar p; rm -r p; tar xf p.tar; diff <(find p | sort) <(printf 'p\np/src\np/src/a\np/test\np/test/b\n') && echo whole

seq 1 200 > big; head -n 150 big | tail -n 1; split -l 50 big; wc -l x*; cat x* | diff - big && echo same; sed -i '100,200d' big; wc -l big

seq 1000 | awk '{s+=$1} END {print s}' > sum; cat sum

echo "$(< docs/a.txt)" | tail -n1; read -r first < docs/a.txt; echo "$first"; printf '%s' "$first" > one; wc -c < one

#: modes, posix

chmod 600 docs/a.txt; ls -l docs/a.txt; stat -c '%a %A' docs/a.txt

chmod +x src/main.ts; ls -l src; [ -x src/main.ts ] && echo executable

chmod u+x,g-r,o=rw docs/a.txt; stat -c %a docs/a.txt

chmod -R 700 docs; find docs -printf '%m %p\n' | sort

chmod 755 none; echo "code $?"

chmod 4755 docs/a.txt; ls -l docs/a.txt; chmod 1777 empty; ls -ld empty

printf '#!/bin/bash\necho "ran $1"\n' > run; chmod +x run; ./run now; chmod -x run; ./run; echo "code $?"

mkdir bin; printf 'echo tool\n' > bin/tool; chmod 755 bin/tool; PATH="$PWD/bin:$PATH" tool

chmod 640 docs/a.txt; cp docs/a.txt c; stat -c %a c; mv c d; stat -c %a d; echo new > d; stat -c %a d; echo more >> docs/a.txt; stat -c %a docs/a.txt

find . -perm 644 -type f | wc -l; chmod 755 src/main.ts; find . -perm -u+x -type f; find . -perm /111 -type f

chmod 755 src/main.ts; ls -F src; tar cf m.tar src; rm -r src; tar xf m.tar; stat -c '%a %n' src/main.ts

chmod 600 docs/a.txt; sed -i s/a/b/ docs/a.txt; stat -c %a docs/a.txt; gzip docs/a.txt; stat -c %a docs/a.txt.gz

mkdir m; stat -c %a m; chmod 500 m; stat -c %a m; touch m/x; ls m

#: links, posix

ln -s docs/a.txt l; cat l; readlink l; ls -l l | sed 's/.*user user//' | cut -c20-

ln -s docs d; ls d; ls d/; cat d/a.txt; find d; find d/ | head -3

ln -s none broken; cat broken; echo "code $?"; [ -e broken ] || [ -L broken ] && echo link; ls broken; rm broken; ls

ln docs/a.txt hard; cat hard; ls -l hard | cut -c1-10

ln docs/a.txt; ls; ln docs/a.txt l; rm docs/a.txt; cat l

ln -s docs/a.txt l; ln -s docs/guide.md l; echo "code $?"; ln -sf docs/guide.md l; readlink l

ln -s a b; ln -s b a; cat a; echo "code $?"; readlink a

ln -s ../docs/a.txt src/l; cat src/l; realpath src/l | sed 's,.*/docs,docs,'; readlink -f src/l | sed 's,.*/docs,docs,'

ln -s docs d; ln -s d e; readlink e; readlink -f e/a.txt | sed 's,.*/docs,docs,'; cat e/a.txt

ln -s docs/a.txt l; rm l; cat docs/a.txt; ls

ln -s docs/a.txt l; mv l m; readlink m; cat m; cp m copy; [ -L copy ] || echo file; cp -P m p 2>/dev/null; cat p

ln -s docs/a.txt l; stat -c '%F %s' l; stat -L -c '%F %s' l 2>&1; file l

mkdir t; ln -s ../docs/a.txt t/l; cp -r t u; readlink u/l; tar cf t.tar t; rm -r t; tar xf t.tar; rm t.tar; readlink t/l; cat t/l

ln -s docs d; rm d; ls docs; ln -s docs d; rm -r d; ls docs | wc -l

ln -s docs/a.txt l; find . -type l; find -L . -name l -type f; tree | tail -n 3

ln -s docs/a.txt l; wc -l l; grep beta l; head -n1 l; sort l | head -n1

ln docs none/x; echo "code $?"; ln docs d; echo "code $?"; ln none x; echo "code $?"

ln -s docs/a.txt l; [ -L l ] && [ -f l ] && [ -h l ] && echo both; readlink docs/a.txt; echo "code $?"; readlink none; echo "code $?"

ln -s /nowhere/at/all l; readlink l; ls -F; rm -f l; ls

cd docs; ln -s guides g; cd g; cat intro.md; pwd | sed 's,.*/docs,docs,'; pwd -P | sed 's,.*/docs,docs,'
