-- Prelude of scripts that read and write numbers.

local MAX = 9007199254740992 -- 2^53: beyond it Lua is not exact

-- number returns a whole number from 0 to MAX; nil for anything else, which somebody wrote by hand.
--
-- field  text from Redis; false or nil if missing
local function number(field)
  local n = field and tonumber(field)
  return n and n >= 0 and n < MAX and n % 1 == 0 and n or nil
end

-- whole returns a whole number as text, with all its digits.
local function whole(n)
  return string.format('%.0f', n)
end
