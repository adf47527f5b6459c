# recipes/*.recipe as bytes in a C file, the list of src/train/recipe.h, so that a program finds
# them wherever it lies. A changed, new or removed recipe makes the build configure again.
file(GLOB recipe_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/recipes/*.recipe)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${recipe_files})

set(recipe_arrays "")
set(recipe_entries "")
set(recipe_number 0)
foreach(recipe_file IN LISTS recipe_files)
    get_filename_component(recipe_name ${recipe_file} NAME)
    string(REGEX REPLACE "\\.recipe$" "" recipe_name ${recipe_name})
    file(READ ${recipe_file} recipe_bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" recipe_bytes "${recipe_bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," recipe_bytes "${recipe_bytes}")
    string(APPEND recipe_arrays
           "static const unsigned char recipe_${recipe_number}[] = {\n${recipe_bytes}0x00};\n")
    string(APPEND recipe_entries "    {\"${recipe_name}\", recipe_${recipe_number}, "
           "(int64_t)sizeof recipe_${recipe_number} - 1},\n")
    math(EXPR recipe_number "${recipe_number} + 1")
endforeach()

set(recipe_source ${CMAKE_CURRENT_BINARY_DIR}/recipes.c)
file(CONFIGURE OUTPUT ${recipe_source} @ONLY CONTENT
"/* Made of the files in recipes/ by cmake/PathgcnRecipes.cmake. */
#include \"train/recipe.h\"

@recipe_arrays@
const pgcn_i_built_in_recipe pgcn_i_built_in_recipes[] = {
@recipe_entries@    {NULL, NULL, 0}};
")
