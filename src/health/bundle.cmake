# SPDX-License-Identifier: Apache-2.0
# Writes bundle.inc: a row for each rule of health/ and each module of lua/, with the file's bytes as escapes.
#   cmake -D LIST=FILE -D ROOT=FOLDER -D OUT=FILE -P bundle.cmake      LIST holds the files, below ROOT, one a line
file(STRINGS ${LIST} files)
list(SORT files)
set(rules "")
set(modules "")
foreach(file ${files})
  file(READ ${ROOT}/${file} hex HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" text "${hex}")
  if(file MATCHES "^lua/([^/]+)\\.lua$")
    string(APPEND modules "MODULE(\"${CMAKE_MATCH_1}\", \"${file}\", \"${text}\")\n")
  elseif(file MATCHES "^health/(([^/]+)/)?([^/]+)/health\\.lua$")
    set(name "health/${CMAKE_MATCH_1}${CMAKE_MATCH_3}")
    string(REPLACE "_" "*" group "${CMAKE_MATCH_2}")
    string(REPLACE "_" "*" kind "${CMAKE_MATCH_3}")
    string(APPEND rules "RULE(\"${group}\", \"${kind}\", \"${name}\", \"${file}\", \"${text}\")\n")
  endif()
endforeach()
file(WRITE ${OUT} "static const struct bundle_rule rules[] = {\n${rules}RULE_END\n};\n"
                  "static const struct bundle_module modules[] = {\n${modules}MODULE_END\n};\n")
