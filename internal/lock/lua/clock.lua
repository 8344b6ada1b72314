-- Prelude of scripts that compare times.

-- clock returns Redis's time in milliseconds.
local function clock()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- whole returns a whole number as text, with all its digits.
local function whole(n)
  return string.format('%.0f', n)
end
